// limit: 240 s for this file (test/run.ts)
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { openReactorSessions } from '../../infra/reactors/reactor-sessions.ts';
import { startRedrive } from '../../infra/relay/redrive.ts';
import { connectRunner, type RunnerEvent } from '../../infra/runner/runner-client.ts';
import { expectReply, type KillablePlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset } from '../faults/tenants.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { loseMessages } from '../fixtures/lose-messages.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const withPlatform = lentPlatform();

type Exposed = { readonly agent: Agent; readonly skill: string; readonly call: (data: object) => Promise<string> };

/**
 * Creates an agent with a skill that is exposed as a webhook. The returned `call` calls this webhook and returns the id
 * of the delivery.
 */
const exposeSkill = async (platform: KillablePlatform): Promise<Exposed> => {
  const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
  const agent = agents[0]!;
  const path = `/tenant/${agent.tenant.id}`;
  const fields = { name: 'Skill', slug: 'skill', description: 'd', instructions: 'i' };
  const { id: skill } = await expectReply<{ id: string }>(platform.call('POST', `${path}/skills`, fields, agent.tenant));
  await expectReply(platform.call('POST', `${path}/agents/${agent.id}/skills`, { skill_id: skill }, agent.tenant));
  const exposed = platform.call('PUT', `${path}/skills/${skill}/webhook`, { agent_id: agent.id }, agent.tenant);
  const { url, token } = await expectReply<{ url: string; token: string }>(exposed);
  const call = async (data: object): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(platform.url + new URL(url).pathname, { method: 'POST', headers, body: JSON.stringify(data) });
    const { id, outcome } = (await response.json()) as { id: string; outcome: string };
    assert.equal([response.status, outcome], [202, 'accepted']);
    return id;
  };
  return { agent, skill, call };
};

/** Starts a runner in this process that keeps the events that it receives. */
const startRunner = async ({ url, dir }: KillablePlatform, { agent }: Exposed) => {
  const control = new AbortController();
  const events: RunnerEvent[] = [];
  const home = { dir: join(dir, agent.id), report: () => {} };
  const runner = await connectRunner({ url, key: agent.runnerKey, signal: control.signal, ...home });
  const receiving = runner.receive(async (event) => void events.push(event));
  return {
    events,
    stop: async (): Promise<void> => {
      control.abort();
      await receiving;
    },
  };
};

const statusOf = async ({ call }: KillablePlatform, { agent }: Exposed, id: string): Promise<unknown> =>
  (JSON.parse((await call('GET', `/tenant/${agent.tenant.id}/deliveries/${id}`, undefined, agent.tenant)).text) as { status?: unknown })
    .status;

const areAll = async (platform: KillablePlatform, exposed: Exposed, ids: readonly string[], status: string): Promise<boolean> =>
  (await Promise.all(ids.map((id) => statusOf(platform, exposed, id)))).every((one) => one === status);

const eventsOf = async (log: Log, { agent }: Exposed): Promise<Recorded[]> =>
  (await Array.fromAsync(log.readAll())).filter(({ tenant, type }) => tenant === agent.tenant.id || type === 'MessagesPublished');

/**
 * Calls a skill of another tenant and waits until the call is published. The message of this call is then the last one
 * at the broker, from which the relay knows how far it has published, so the test can remove earlier messages.
 */
const callAnother = async (platform: KillablePlatform): Promise<void> => {
  const other = await exposeSkill(platform);
  const id = await other.call({});
  await eventually('the other call is published', () => areAll(platform, other, [id], 'queued'));
};

const redrive = async (platform: KillablePlatform, ...words: string[]): Promise<readonly string[]> => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: platform.data };
  const running = startProgram(process.execPath, [mainFile, 'redrive', ...words], { env });
  assert.is(await running.ended, 0, running.output());
  return running.output().trim().split('\n');
};

test('a call of a skill webhook reaches the runner once, even if the broker loses the message and annals redrive sends the message again', () =>
  withPlatform(async (platform) => {
    const exposed = await exposeSkill(platform);
    const runner = await startRunner(platform, exposed);
    const first = await exposed.call({ order: 1 });
    await eventually('the call is done', () => areAll(platform, exposed, [first], 'done'));
    await runner.stop();
    const [event] = runner.events;
    const { type, skill, agent, provider, deliveryid, contenttrust, data } = event!;
    assert.equal(
      [type, skill, agent, provider, deliveryid, contenttrust, data],
      ['annals.skill.called', exposed.skill, exposed.agent.id, 'skill', first, 'untrusted', { order: 1 }],
    );

    const lost = [await exposed.call({ order: 2 }), await exposed.call({ order: 3 })];
    await callAnother(platform);
    await eventually('the calls are published', () => areAll(platform, exposed, lost, 'queued'));
    assert.is(await loseMessages(platform, exposed.agent.tenant.id, exposed.agent.id), 3);
    const about = (id: string): string => `${id}  tenant ${exposed.agent.tenant.id}  agent ${exposed.agent.id}`;
    const found = '2 without an acknowledgement: 0 at the broker, 0 left to the relay, 2 lost';
    assert.equal(await redrive(platform, '--tenant', exposed.agent.tenant.id, '--dry-run'), [
      found,
      ...lost.map((id) => `would send ${about(id)}`),
      '2 would be sent, 0 skipped',
    ]);
    assert.is((await redrive(platform, '--tenant', exposed.agent.tenant.id)).at(-1), '2 sent, 0 skipped');
    assert.is((await redrive(platform, '--tenant', exposed.agent.tenant.id)).at(-1), '0 sent, 0 skipped');

    const second = await startRunner(platform, exposed);
    await eventually('the lost calls are done', () => areAll(platform, exposed, lost, 'done'));
    await second.stop();
    assert.equal(
      second.events.map(({ data }) => data),
      [{ order: 2 }, { order: 3 }],
    );
    const log = platform.openLog();
    const called = (await eventsOf(log, exposed)).filter(({ type }) => type === 'SkillWebhookCalled').map(({ event_id }) => event_id);
    await log.close();
    assert.equal(
      [...runner.events, ...second.events].map(({ id }) => id),
      called,
      'a message that is sent again keeps its id',
    );
  }));

test('the redrive reactor sends the lost message of a skill call again once, and not before the message is overdue', () =>
  withPlatform(async (platform) => {
    const exposed = await exposeSkill(platform);
    const log = platform.openLog();
    const nats = await platform.connectNats();
    const overdueMs = 6_000;
    const logger = { info: () => {}, debug: () => {}, warn: () => {} };
    const sessions = openReactorSessions(platform.serviceVariables().DATABASE_URL, silentLogger);
    const reactor = startRedrive({
      ...{ log, nats, logger, reads: sessions.reads },
      ...{ isResponsible: () => true, isRecording: () => true, publishedThrough: async () => null },
      ...{ intervalMs: 500, overdueMs },
    });
    const lost = await exposed.call({ order: 4 });
    await callAnother(platform);
    await eventually('the call is published', () => areAll(platform, exposed, [lost], 'queued'));
    assert.is(await loseMessages(platform, exposed.agent.tenant.id, exposed.agent.id), 1);
    const ofType = async (type: string): Promise<Recorded[]> => (await eventsOf(log, exposed)).filter((event) => event.type === type);
    await eventually('the call is sent again', async () => (await ofType('DeliveryRequeued')).length === 1);
    const [requeued] = await ofType('DeliveryRequeued');
    const [called] = await ofType('SkillWebhookCalled');
    assert.equal(requeued!.data, { agent_id: exposed.agent.id, repeats: called!.event_id });
    const waited = Date.parse(requeued!.at) - Date.parse(called!.at);
    assert.ok(waited >= overdueMs, `it was sent again after ${waited} ms`);

    // The reactor continues searching while the new message is at the broker, also when this one is overdue.
    await sleep(overdueMs + 1_000);
    // With this short time, the reactor would take a message for lost whose acknowledgement is not recorded yet.
    await reactor.close();
    await sessions.close();
    const runner = await startRunner(platform, exposed);
    await eventually('the call is done', () => areAll(platform, exposed, [lost], 'done'));
    await runner.stop();
    assert.equal(
      runner.events.map(({ id }) => id),
      [called!.event_id],
    );
    assert.is((await ofType('DeliveryRequeued')).length, 1);
    await nats.close();
    await log.close();
  }));

test('the reason why a command failed is in the detail of the delivery and in the list of failed deliveries, without the key of the runner', () =>
  withPlatform(async (platform) => {
    const exposed = await exposeSkill(platform);
    const { agent } = exposed;
    const id = await exposed.call({ order: 4 });
    const annals = (words: readonly string[], key: string) => {
      const env = { ...unconfiguredEnvironment(), ANNALS_URL: platform.url, ANNALS_KEY: key, ANNALS_DATA: join(platform.dir, agent.id) };
      return startProgram(process.execPath, [mainFile, ...words], { env });
    };
    const exec = 'echo "no model for $ANNALS_KEY" >&2; exit 3';
    const runner = annals(['runner', '--agent', agent.slug, '--once', '--exec', exec], agent.runnerKey);
    assert.is(await runner.ended, 1, runner.output());
    let shown: Record<string, unknown> | null | undefined;
    await eventually('the report is shown', async () => {
      const { text } = await platform.call('GET', `/tenant/${agent.tenant.id}/deliveries/${id}`, undefined, agent.tenant);
      const { attempts } = JSON.parse(text) as { attempts: { report: Record<string, unknown> | null }[] };
      shown = attempts[0]?.report;
      return !!shown;
    });
    const { outcome, code, reason, stderr_tail } = shown!;
    assert.equal([outcome, code, reason, stderr_tail], ['failed', '3', 'the command ended with 3', 'no model for [secret]\n']);
    const isListed = async (): Promise<boolean> => {
      const list = annals(['deliveries', 'list', '--failed'], agent.tenant.key);
      assert.is(await list.ended, 0, list.output());
      return list.output().includes(`${id}  skill  running  attempt 1 failed (3): the command ended with 3\n`);
    };
    await eventually('the refusal is recorded', isListed);
  }));

test.run();
