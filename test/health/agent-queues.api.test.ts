import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import {
  type AskedAgents,
  budgetsResult,
  createQueueReaders,
  type NamedQueues,
  queuesResult,
  runnersResult,
  type StoppedAgents,
} from '../../infra/health/agent-queues.ts';
import { createHeldReader } from '../../infra/health/held-deliveries.ts';
import { memoizeFor } from '../../infra/processes/readiness.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { inOneHour } from '../fixtures/one-hour.ts';
import { openTestBroker } from '../fixtures/test-broker.ts';

const AT = Date.parse('2026-03-20T10:30:00.000Z');
const ago = (minutes: number): string => new Date(AT - minutes * 60_000).toISOString();

const queue = (tenant_id: string, agent_id: string, minutes: number, count = 1) => ({ tenant_id, agent_id, count, since: ago(minutes) });
const [first, second, third] = [queue('north', 'a1', 90, 3), queue('north', 'a2', 10), queue('south', 'a3', 3)];
const tenants = new Map([['north', 'Northwind']]);

type Found = Partial<NamedQueues> & { readonly asked?: AskedAgents; readonly stopped?: StoppedAgents };

/** For each agent: whether a runner is connected, and for how many minutes the oldest message has waited for one. */
const asked = (...agents: readonly (readonly [isConnected: boolean, minutes: number | null])[]) =>
  [first, second, third].map((one, n) => {
    const [isConnected, minutes] = agents[n]!;
    return { ...one, isConnected, waiting_since: minutes === null ? null : ago(minutes) };
  });
const UNTIL = '2026-03-20T11:00:00.000Z';
const OPEN = ['ok', /^5 deliveries of 3 agents are open, the oldest for 90 min$/, { open_deliveries: 5, oldest_seconds: 5_400 }] as const;
const NONE_STOPPED = ['ok', /^no budget stops/, { stopped_agents: 0 }] as const;

/** The findings about queues, runners and budgets: the level, what the message must say, and the figures. */
const FINDINGS = {
  'nothing waits': [
    { queues: [] },
    ['ok', /^no delivery is open/, { open_deliveries: 0, oldest_seconds: 0 }],
    ['ok', /^no delivery has been open/, { connected_agents: 0, lagging_agents: 0 }],
    NONE_STOPPED,
  ],
  'there is more than is examined': [
    { hasMore: true },
    ['ok', /^at least 5 deliveries of 3 agents/, { open_deliveries: 5, oldest_seconds: 5_400 }],
    ['ok', /^no delivery has been open/, { connected_agents: 0, lagging_agents: 0 }],
    NONE_STOPPED,
  ],
  'some agents have no runner': [
    { asked: asked([false, 90], [false, 10], [false, 3]) },
    OPEN,
    [
      'warn',
      /^0 of 3 agents .*; no runner is connected for 3 agents \(Northwind 2, south 1\)$/,
      { connected_agents: 0, lagging_agents: 0 },
    ],
    NONE_STOPPED,
  ],
  'runners lag': [
    { asked: asked([true, 60], [true, 10], [true, 3]) },
    OPEN,
    ['warn', /^3 of 3 agents .*; 2 agents \(Northwind 2\) with a runner lag, by up to 60 min$/, { connected_agents: 3, lagging_agents: 2 }],
    NONE_STOPPED,
  ],
  'runners work for long, and no message has waited long': [
    { asked: asked([true, null], [true, 4], [true, null]) },
    OPEN,
    ['ok', /^3 of 3 agents .* have a connected runner$/, { connected_agents: 3, lagging_agents: 0 }],
    NONE_STOPPED,
  ],
  'a budget stops the agent that seems to lag': [
    { asked: asked([true, 90], [false, 10], [true, 3]), stopped: [{ tenant_id: 'north', agent_id: 'a1', until: UNTIL }] },
    OPEN,
    ['warn', /^2 of 3 agents .*; no runner is connected for 1 agent \(Northwind 1\)$/, { connected_agents: 2, lagging_agents: 0 }],
    ['ok', /^1 agent \(Northwind 1\) .* waits until 2026-03-20T11:00:00\.000Z$/, { stopped_agents: 1 }],
  ],
  'budgets are not known': [
    { asked: asked([true, 90], [true, 10], [true, 3]), stopped: new Error('no answer within 1 s') },
    OPEN,
    ['ok', /^3 of 3 agents .* have a connected runner$/, { connected_agents: 3 }],
    ['fail', /^no answer within 1 s$/, undefined],
  ],
  'neither the broker nor the event store answers': [
    { asked: new Error('connect ECONNREFUSED 127.0.0.1:4222'), stopped: new Error('no answer within 1 s') },
    OPEN,
    ['fail', /^connect ECONNREFUSED/, undefined],
    ['fail', /^no answer within 1 s$/, undefined],
  ],
} as const satisfies Record<string, readonly [Found, ...unknown[]]>;

for (const [what, [given, ...expected]] of Object.entries(FINDINGS))
  test(`if ${what}, the findings say so, and what to do`, () => {
    const { asked: agents = [], stopped = [], ...queues }: Found = given;
    const named = { at: AT, queues: [first, second, third], hasMore: false, tenants, ...queues };
    const results = [queuesResult(named), runnersResult(named, agents, stopped), budgetsResult(named, stopped)];
    for (const [n, [level, message, figures]] of expected.entries()) {
      assert.match(results[n]!.message, message);
      assert.equal([results[n]!.level, results[n]!.figures], [level, figures]);
      assert.is(results[n]!.advice === null, level === 'ok');
    }
  });

await inOneHour();
const p = await startConsole();
const broker = openTestBroker();
type Broker = Parameters<typeof createQueueReaders>[0]['broker'];

const partsWith = (given: Broker): Parameters<typeof createQueueReaders>[0] => ({
  reads: p.reads,
  broker: given,
  contextOf: (tenant) => ({ tenant, at: () => new Date().toISOString(), load: p.systemContext(tenant).load }),
});

/** Creates readers that share their results only for the time of one report. */
const readersWith = (given: Broker) => createQueueReaders(partsWith(given), (read) => memoizeFor(60_000, read));

/** How many deliveries of all tenants rates hold. */
const heldByRates = async (): Promise<number> => {
  await p.waitForProjections();
  return (await createHeldReader(partsWith(broker), readersWith(broker).queues)()).rate.count;
};

/** The ids of the agents with open deliveries, and since when the oldest has waited. */
const openAgents = async (): Promise<ReadonlyMap<string, string>> => {
  await p.waitForProjections();
  return new Map((await readersWith(broker).queues()).queues.map(({ agent_id, since }) => [agent_id, since]));
};

const minutesAgo = (minutes: number) => () => Date.now() - minutes * 60_000;
const succeeds = async (method: string, path: string, body: object): Promise<void> => {
  const { status, text } = await p.send(method, path, { body });
  assert.ok(status >= 200 && status < 300, text);
};

test('the report on the queues of all tenants names what waits, agents without a runner, and those without budget', async () => {
  const [waiting, stopped] = [await createAgent(p, 'Waiting'), await createAgent(p, 'Stopped')];
  const hooks = [await createIntegration(p, waiting, 'one'), await createIntegration(p, stopped, 'two')];
  p.clock.now = minutesAgo(2);
  for (const hook of [hooks[0]!, ...hooks]) await deliver(p, hook, 'push', { n: Math.random() });
  p.clock.now = Date.now;
  await p.send('PUT', `${p.tenant}/agents/${stopped}/budget`, { body: { hourly_limit_usd: 0 } });
  await p.waitForProjections();
  const readers = readersWith(broker);
  const { queues, tenants: named, hasMore } = await readers.queues();
  assert.equal(
    queues.map(({ agent_id, count }) => [agent_id, count]),
    [
      [waiting, 2],
      [stopped, 1],
    ],
  );
  assert.equal(
    ((await readers.asked()) as readonly { isConnected: boolean }[]).map(({ isConnected }) => isConnected),
    [false, false],
  );
  assert.equal(
    ((await readers.stopped()) as readonly { agent_id: string }[]).map(({ agent_id }) => agent_id),
    [stopped],
  );
  assert.equal([named.size, hasMore], [1, false]);
});

test('what is known without the broker is reported while the broker does not answer', async () => {
  const never = () => new Promise<never>(() => {});
  const readers = readersWith({ connectionsOf: never, queueOf: never });
  const known = Promise.all([readers.queues(), readers.stopped()]).then(([{ queues }]) => queues.length);
  assert.is(await Promise.race([known, readers.asked()]), 2);
  assert.instance(await readers.asked(), Error);
});

test('for an agent with many credentials, the broker is asked about a few of the newest until one is connected', async () => {
  const agent = await createAgent(p, 'Restarting');
  const hook = await createIntegration(p, agent, 'many');
  p.clock.now = minutesAgo(2);
  await deliver(p, hook, 'push', { n: 1 });
  for (let n = 0; n < 25; n++) {
    p.clock.now = () => Date.now() - 60_000 + n * 1_000;
    const ctx = p.systemContext(p.tenant_id);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const fields = { agent_id: agent, public_key: `U-${n}`, subject: 's', stream: 'AGENTS', consumer: 'c', expires_at };
    await ctx.transact(RunnerCredential, ctx.newId(), RunnerCredential.issue(fields));
  }
  p.clock.now = Date.now;
  await p.waitForProjections();
  /** Reads whether the agent has a runner, whose key is `open`. @returns this and the keys of each request */
  const askFor = async (open: string | null) => {
    const requests: (readonly string[])[] = [];
    const connectionsOf: Broker['connectionsOf'] = async (keys) => {
      if (keys.length > 0) requests.push(keys);
      const now = new Date().toISOString();
      return open !== null && keys.includes(open) ? [{ from: now, until: null, active_at: now }] : broker.connectionsOf(keys);
    };
    const found = (await readersWith({ ...broker, connectionsOf }).asked()) as readonly { agent_id: string; isConnected: boolean }[];
    return [found.find(({ agent_id }) => agent_id === agent)!.isConnected, requests.map((keys) => keys.length), requests[0]![0]];
  };
  assert.equal(await askFor(null), [false, [10, 10], 'U-24']);
  assert.equal(await askFor('U-20'), [true, [10], 'U-24']);
});

const THREE_DAYS = 3 * 24 * 60;

test('a delivery that is released or sent again waits only since then', async () => {
  const [released, requeued] = [await createAgent(p, 'Released'), await createAgent(p, 'Requeued')];
  const [blocking, hook] = [await createIntegration(p, released, 'three'), await createIntegration(p, requeued, 'four')];
  await succeeds('PATCH', `${p.tenant}/webhook-integrations/${blocking}`, { event_filter: ['push'] });
  p.clock.now = minutesAgo(THREE_DAYS);
  const [blocked, old] = [await deliver(p, blocking, 'ping', {}), await deliver(p, hook, 'push', { n: 1 })];
  assert.ok(Date.parse((await openAgents()).get(requeued)!) < minutesAgo(THREE_DAYS - 1)());
  p.clock.now = Date.now;
  await succeeds('POST', `${p.tenant}/deliveries/${blocked.id}/release`, { reason: 'The sender is known' });
  await succeeds('POST', `${p.tenant}/deliveries/${old.id}/redeliver`, {});
  const open = await openAgents();
  for (const agent of [released, requeued]) assert.ok(Date.parse(open.get(agent)!) > minutesAgo(5)(), open.get(agent));
});

test('deleted agents and suspended and closed tenants have neither queues nor held deliveries in the report', async () => {
  const [agent, other] = [await createAgent(p, 'Deleted'), await createAgent(p, 'Kept')];
  for (const [of, label] of [
    [agent, 'five'],
    [other, 'six'],
  ] as const) {
    const hook = await createIntegration(p, of, label);
    const rate = { name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' };
    await succeeds('PUT', `${p.tenant}/webhook-integrations/${hook}/guardrails`, [rate]);
    for (const n of [1, 2, 3]) await deliver(p, hook, 'push', { n });
  }
  assert.equal([(await openAgents()).has(agent), await heldByRates()], [true, 4]);
  await succeeds('DELETE', `${p.tenant}/agents/${agent}`, {});
  assert.equal([(await openAgents()).has(agent), (await openAgents()).has(other), await heldByRates()], [false, true, 2]);
  const admin = `/admin/tenants/${p.tenant_id}`;
  await succeeds('POST', `${admin}/suspend`, { reason: 'unpaid' });
  assert.equal([(await openAgents()).size, await heldByRates()], [0, 0]);
  await succeeds('POST', `${admin}/resume`, { reason: 'paid' });
  assert.equal([(await openAgents()).size > 0, await heldByRates()], [true, 2]);
  await succeeds('POST', `${p.tenant}/close`, { reason: 'a test' });
  assert.equal([(await openAgents()).size, await heldByRates()], [0, 0]);
});

afterLastTest(async () => {
  await broker.close();
  await p.close();
});

test.run();
