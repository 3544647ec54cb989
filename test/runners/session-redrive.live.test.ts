// limit: 240 s for this file (test/run.ts)
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consumerName, STREAM } from '../../domain/runners/runner-credential.ts';
import { manager } from '../../infra/nats/jetstream.ts';
import { openReactorSessions } from '../../infra/reactors/reactor-sessions.ts';
import { startRedrive } from '../../infra/relay/redrive.ts';
import { expectReply, type KillablePlatform } from '../faults/running-platform.ts';
import { effectsIn } from '../faults/session-effects.ts';
import { startSessionRunner } from '../faults/session-kills.ts';
import { type Agent, createAgent, createTenant } from '../faults/tenants.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { loseMessages } from '../fixtures/lose-messages.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const withPlatform = lentPlatform();

type Shown = { readonly id: string; readonly event_id: string; readonly runner_status: string };

const person = ({ call }: KillablePlatform, { tenant, id: agent }: Agent) => {
  const post = <T>(path: string, body: object): Promise<T> =>
    expectReply<T>(
      call('POST', `/tenant/${tenant.id}${path}`, body, { key: tenant.key, headers: { 'idempotency-key': crypto.randomUUID() } }),
    );
  return {
    start: async (content: string): Promise<string> =>
      (await post<{ id: string }>(`/agents/${agent}/sessions`, { message: { content } })).id,
    write: (session: string, content: string) => post(`/sessions/${session}/messages`, { role: 'user', content }),
    messages: async (session: string): Promise<readonly Shown[]> =>
      (await expectReply<{ messages: Shown[] }>(call('GET', `/tenant/${tenant.id}/sessions/${session}`, undefined, tenant), 200)).messages,
  };
};

const given = async (platform: KillablePlatform) => {
  const agent = await createAgent(platform, await createTenant(platform), 'agent');
  const home = join(platform.dir, `runner-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const { start, write, messages } = person(platform, agent);
  const statusesIn = async (...sessions: string[]): Promise<string[]> =>
    (await Promise.all(sessions.map(messages))).flat().map(({ runner_status }) => runner_status);
  const untilStatuses = (what: string, sessions: readonly string[], wanted: string): Promise<void> =>
    eventually(what, async () => (await statusesIn(...sessions)).join(' ') === wanted);
  /** With `false`, the broker reports no acknowledgement of this agent, as if it had lost its reports. */
  const setReports = async (areSent: boolean): Promise<void> => {
    const nats = await platform.connectNats();
    const { consumers } = await manager(nats);
    await consumers.update(STREAM, consumerName(agent.id), { sample_freq: areSent ? '100%' : '' });
    await nats.close();
  };
  /** The broker loses this number of messages to the agent, as soon as all are published. */
  const lose = async (count: number): Promise<void> => {
    let lost = 0;
    await eventually('all are published', async () => {
      lost += await loseMessages(platform, agent.tenant.id, agent.id);
      return lost === count;
    });
  };
  const effects = (): string[] => effectsIn(home).map(({ session, number }) => `${session} ${number}`);
  const startRunner = () => startSessionRunner(platform, agent, home);
  return { agent, start, write, messages, untilStatuses, setReports, lose, effects, startRunner };
};

/** Two processes look for lost messages at once. Each message must still be sent again only once. */
const startRedrives = async (platform: KillablePlatform) => {
  const [log, nats] = [platform.openLog(), await platform.connectNats()];
  const sessions = openReactorSessions(platform.serviceVariables().DATABASE_URL, silentLogger);
  const always = { isResponsible: () => true, isRecording: () => true, publishedThrough: async () => null };
  const parts = { log, nats, reads: sessions.reads, logger: silentLogger, ...always };
  const redrives = [1, 2].map(() => startRedrive({ ...parts, intervalMs: 4_000, overdueMs: 0 }));
  return async (): Promise<void> => {
    await Promise.all(redrives.map(({ close }) => close()));
    await sessions.close();
    await nats.close();
    await log.close();
  };
};

const redriveByHand = async ({ data }: KillablePlatform, { tenant }: Agent, ...words: string[]): Promise<string> => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data };
  const running = startProgram(process.execPath, [mainFile, 'redrive', '--tenant', tenant.id, ...words], { env });
  assert.is(await running.ended, 0, running.output());
  return running.output();
};

const repeatsIn = async (platform: KillablePlatform, session: string): Promise<string[]> => {
  const log = platform.openLog();
  const repeated: string[] = [];
  for await (const { type, id, data } of log.readAll())
    if (type === 'SessionMessageRepeated' && id === session) repeated.push((data as { repeats: string }).repeats);
  await log.close();
  return repeated;
};

test('a message of a session whose acknowledgement was lost is settled, without a second effect', () =>
  withPlatform(async (platform) => {
    const { start, write, messages, untilStatuses, setReports, effects, startRunner } = await given(platform);
    const runner = await startRunner();
    const [last, passed] = [await start('0'), await start('0')];
    await untilStatuses('both are acknowledged', [last, passed], 'seen seen');
    await setReports(false);
    for (const session of [last, passed]) await write(session, '1');
    await eventually('all are processed', async () => effects().length === 4);
    await setReports(true);
    await write(passed, '2');
    await untilStatuses('only the reports of one time are lost', [last, passed], 'seen waiting seen waiting seen');
    const stopRedrives = await startRedrives(platform);
    await untilStatuses('all are settled', [last, passed], 'seen seen seen seen seen');
    await stopRedrives();
    assert.is(effects().length, 5);
    const [, second] = await messages(last);
    assert.equal(await repeatsIn(platform, last), [second!.event_id]);
    assert.equal(await repeatsIn(platform, passed), [], 'a later message was processed, so it is not sent again');
    await runner.stop();
  }));

test('a message of a session that the broker has lost is sent again, and the next ones wait for it', () =>
  withPlatform(async (platform) => {
    const { agent, start, write, messages, untilStatuses, lose, effects, startRunner } = await given(platform);
    const first = await startRunner();
    const session = await start('0');
    await untilStatuses('the first one is processed', [session], 'seen');
    await first.stop();
    await write(session, '1');
    await write(session, '2');
    await lose(3);
    await write(session, '3');
    const tried = await redriveByHand(platform, agent, '--dry-run');
    assert.match(tried, `would send session ${session}  tenant ${agent.tenant.id}  agent ${agent.id}`);
    assert.match(tried, '2 would be sent, 0 skipped');
    const second = await startRunner();
    const stopRedrives = await startRedrives(platform);
    await untilStatuses('all are processed', [session], 'seen seen seen seen');
    await stopRedrives();
    assert.equal(
      effects(),
      ['0', '1', '2', '3'].map((content) => `${session} ${content}`),
    );
    const lost = (await messages(session)).slice(1, 3).map(({ event_id }) => event_id);
    assert.equal((await repeatsIn(platform, session)).sort(), lost.sort());
    await second.stop();
  }));

test('annals redrive sends lost messages of sessions again, each once', () =>
  withPlatform(async (platform) => {
    const { agent, start, write, untilStatuses, lose, effects, startRunner } = await given(platform);
    const first = await startRunner();
    const session = await start('0');
    await untilStatuses('the first one is processed', [session], 'seen');
    await first.stop();
    await write(session, '1');
    await lose(2);
    await write(session, '2');
    assert.match(await redriveByHand(platform, agent), '1 sent, 0 skipped');
    assert.match(await redriveByHand(platform, agent), '0 sent, 0 skipped');
    const second = await startRunner();
    await untilStatuses('it is processed', [session], 'seen seen seen');
    assert.equal(
      effects(),
      ['0', '1', '2'].map((content) => `${session} ${content}`),
    );
    assert.is((await repeatsIn(platform, session)).length, 1);
    await second.stop();
  }));

test.run();
