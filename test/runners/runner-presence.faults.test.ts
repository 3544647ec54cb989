// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RunnerPresence } from '../../api/runners/runner-presence.ts';
import { createSockets, post } from '../faults/load.ts';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset, type Hook } from '../faults/tenants.ts';
import { bareEnvironment, eventually, mainFile, type Program, startProgram } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

type Presence = ReturnType<(typeof RunnerPresence)['parse']>;

const show = async ({ call }: KillablePlatform, { tenant, id }: Agent): Promise<Presence> => {
  const { status, text } = await call('GET', `/tenant/${tenant.id}/agents/${id}/runner`, undefined, tenant);
  assert.is(status, 200, text);
  return JSON.parse(text) as Presence;
};

/** Lets the commands of the blocked runners end. */
const unblock = ({ dir }: Pick<KillablePlatform, 'dir'>): void => writeFileSync(join(dir, 'go'), '');

/** Starts a real runner. Its command does not end until `unblock` is called, or the platform closes. */
const startBlockedRunner = async ({ url, dir, stopOnClose }: KillablePlatform, agent: Agent): Promise<Program> => {
  const command = `while [ ! -e ${join(dir, 'go')} ]; do sleep 0.1; done`;
  const env = { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: agent.runnerKey };
  const program = startProgram(process.execPath, [mainFile, 'runner', '--agent', agent.slug, '--exec', command], { cwd: dir, env });
  stopOnClose({
    stop: () => {
      unblock({ dir });
      return program.stop();
    },
  });
  await program.waitForOutput(/waiting for deliveries/);
  return program;
};

const deliver = async ({ url }: KillablePlatform, hook: Hook): Promise<string> => {
  const sockets = createSockets();
  const { id } = await post(url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify({ n: 1 }) });
  sockets.destroy();
  return id!;
};

const countsOf = ({ waiting, running }: Presence): string => `${waiting} ${running}`;

test('a runner is shown as connected until it is killed; its delivery is shown first as waiting, then as running, and in the end as neither', () =>
  onPlatform(async (platform) => {
    const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 2, hooks: 1 });
    const [agent, other] = [agents[0]!, agents[1]!];
    const hook = hooks.find((one) => one.agent.id === agent.id)!;
    const nobody = {
      connected_since: null,
      last_seen_at: null,
      last_acknowledged_at: null,
      waiting: 0,
      running: 0,
      oldest_waiting_at: null,
      held: null,
    };
    assert.equal(await show(platform, agent), { agent_id: agent.id, ...nobody });

    const before = new Date().toISOString();
    const first = `/tenant/${agent.tenant.id}/deliveries/${await deliver(platform, hook)}`;
    // The relay can publish several deliveries in the same millisecond, so the others are sent later.
    await eventually('the first delivery waits', async () => countsOf(await show(platform, agent)) === '1 0');
    for (let n = 0; n < 2; n++) await deliver(platform, hook);
    let oldest_waiting_at: string | null = null;
    await eventually('three deliveries wait', async () => {
      const shown = await show(platform, agent);
      oldest_waiting_at = shown.oldest_waiting_at;
      return countsOf(shown) === '3 0' && oldest_waiting_at !== null;
    });
    let received_at = '';
    await eventually('the read model contains the first delivery', async () => {
      const { status, text } = await platform.call('GET', first, undefined, agent.tenant);
      if (status === 200) ({ received_at } = JSON.parse(text) as { received_at: string });
      return status === 200;
    });
    const publishedAfterMs = Date.parse(oldest_waiting_at!) - Date.parse(received_at);
    assert.ok(oldest_waiting_at! >= before && Math.abs(publishedAfterMs) < 5_000 * loadFactor(), `published after ${publishedAfterMs} ms`);

    const runner = await startBlockedRunner(platform, agent);
    await eventually('one delivery runs', async () => countsOf(await show(platform, agent)) === '2 1');
    const connected = await show(platform, agent);
    assert.ok(connected.connected_since! > before && connected.last_seen_at! >= connected.connected_since!);
    assert.ok(connected.oldest_waiting_at! > oldest_waiting_at!, 'the second delivery is now the oldest that waits');
    const second = await startBlockedRunner(platform, agent);
    await eventually('two deliveries run', async () => countsOf(await show(platform, agent)) === '1 2');
    assert.is((await show(platform, agent)).connected_since, connected.connected_since, 'the first runner is still connected');
    const list = JSON.parse((await platform.call('GET', `/tenant/${agent.tenant.id}/runners`, undefined, agent.tenant)).text) as Presence[];
    const listed = new Map(list.map((one) => [one.agent_id, one]));
    assert.is(listed.get(agent.id)?.connected_since, connected.connected_since, 'the list of runners has the same connection');
    assert.equal(listed.get(other.id), { agent_id: other.id, ...nobody });

    await runner.stop('SIGKILL');
    await second.stop('SIGKILL');
    await eventually('no runner is connected', async () => (await show(platform, agent)).connected_since === null);
    const gone = await show(platform, agent);
    assert.ok(gone.last_seen_at! >= connected.last_seen_at! && gone.last_seen_at! <= new Date().toISOString());
    assert.is(countsOf(gone), '1 2', 'the two deliveries are not acknowledged');

    unblock(platform);
    await startBlockedRunner(platform, agent);
    // This can take more than 30 s: for that long, the broker waits for acknowledgements from the killed runners.
    await waitUntil(async () => countsOf(await show(platform, agent)) === '0 0', 60_000, 'the acknowledgement of all deliveries');
    const done = await show(platform, agent);
    assert.ok(done.connected_since! > gone.last_seen_at!);
    assert.is(done.oldest_waiting_at, null);
    assert.ok(done.last_acknowledged_at! >= before);
    assert.equal(await show(platform, other), { agent_id: other.id, ...nobody }, 'another agent of the tenant has no runner');

    await platform.kill('nats');
    const { status, text } = await platform.call('GET', `/tenant/${agent.tenant.id}/agents/${agent.id}/runner`, undefined, agent.tenant);
    if (status !== 200) assert.match(text, /message broker/);
    await eventually('the runner is seen again after a restart of the broker', async () => {
      const path = `/tenant/${agent.tenant.id}/agents/${agent.id}/runner`;
      const reply = await platform.call('GET', path, undefined, agent.tenant);
      return reply.status === 200 && (JSON.parse(reply.text) as Presence).connected_since !== null;
    });
  }));

test.run();
