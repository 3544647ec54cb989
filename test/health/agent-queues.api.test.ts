import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AgentQueues, budgetsResult, createQueueReader, queuesResult, runnersResult } from '../../infra/health/agent-queues.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { inOneHour } from '../fixtures/one-hour.ts';
import { openTestBroker } from '../fixtures/test-broker.ts';

const AT = Date.parse('2026-03-20T10:30:00.000Z');
const ago = (minutes: number): string => new Date(AT - minutes * 60_000).toISOString();

const queue = (tenant_id: string, agent_id: string, minutes: number, count = 1) => ({ tenant_id, agent_id, count, since: ago(minutes) });
const [first, second, third] = [queue('north', 'a1', 90, 3), queue('north', 'a2', 10), queue('south', 'a3', 3)];
const tenants = new Map([['north', 'Northwind']]);
const found = (more: Partial<AgentQueues>): AgentQueues => ({
  at: AT,
  queues: [first, second, third],
  asked: [],
  stopped: [],
  tenants,
  ...more,
});
const asked = (...connected: boolean[]) => [first, second, third].map((one, n) => ({ ...one, isConnected: connected[n]! }));
const UNTIL = '2026-03-20T11:00:00.000Z';

/** The findings about queues, runners and budgets: the level, what the message must say, and the figures. */
const FINDINGS = {
  'nothing waits': [
    { queues: [] },
    ['ok', /^no delivery waits/, { open_deliveries: 0, oldest_seconds: 0 }],
    ['ok', /^no delivery has waited/, { connected_agents: 0, lagging_agents: 0 }],
    ['ok', /^no budget stops/, { stopped_agents: 0 }],
  ],
  'some agents have no runner': [
    { asked: asked(false, false, false) },
    [
      'warn',
      /^5 deliveries of 3 agents .* for 90 min; .* for 3 agents \(Northwind 2, south 1\)$/,
      { open_deliveries: 5, oldest_seconds: 5_400 },
    ],
    ['ok', /^0 of 3 agents/, { connected_agents: 0, lagging_agents: 0 }],
    ['ok', /^no budget stops/, { stopped_agents: 0 }],
  ],
  'runners lag': [
    { asked: asked(true, true, true) },
    ['ok', /^5 deliveries of 3 agents are not finished/, { open_deliveries: 5, oldest_seconds: 5_400 }],
    ['warn', /^3 of 3 agents .*; 2 agents \(Northwind 2\) with a runner lag, by up to 90 min$/, { connected_agents: 3, lagging_agents: 2 }],
    ['ok', /^no budget stops/, { stopped_agents: 0 }],
  ],
  'a budget stops the agent that seems to lag': [
    { asked: asked(true, false, true), stopped: [{ tenant_id: 'north', agent_id: 'a1', until: UNTIL }] },
    ['warn', /for 1 agent \(Northwind 1\)$/, { open_deliveries: 5, oldest_seconds: 5_400 }],
    ['ok', /^2 of 3 agents/, { connected_agents: 2, lagging_agents: 0 }],
    ['ok', /^1 agent \(Northwind 1\) .* waits until 2026-03-20T11:00:00\.000Z$/, { stopped_agents: 1 }],
  ],
  'neither the broker nor the event store answers': [
    { asked: new Error('connect ECONNREFUSED 127.0.0.1:4222'), stopped: new Error('no answer within 1 s') },
    ['ok', /^5 deliveries/, { open_deliveries: 5, oldest_seconds: 5_400 }],
    ['fail', /^connect ECONNREFUSED/, undefined],
    ['fail', /^no answer within 1 s$/, undefined],
  ],
} as const satisfies Record<string, readonly [Partial<AgentQueues>, ...unknown[]]>;

for (const [what, [given, ...expected]] of Object.entries(FINDINGS))
  test(`if ${what}, the findings say so, and what to do`, () => {
    const results = [queuesResult, runnersResult, budgetsResult].map((resultOf) => resultOf(found(given)));
    for (const [n, [level, message, figures]] of expected.entries()) {
      assert.match(results[n]!.message, message);
      assert.equal([results[n]!.level, results[n]!.figures], [level, figures]);
      assert.is(results[n]!.advice === null, level === 'ok');
    }
  });

await inOneHour();
const p = await startConsole();
const broker = openTestBroker();
const read = createQueueReader({
  reads: p.reads,
  broker,
  contextOf: (tenant) => ({ tenant, at: () => new Date().toISOString(), load: p.systemContext(tenant).load }),
});

test('the queues of all tenants have what waits, which agents have no runner, and which their budgets stop', async () => {
  const [waiting, stopped] = [await createAgent(p, 'Waiting'), await createAgent(p, 'Stopped')];
  const hooks = [await createIntegration(p, waiting, 'one'), await createIntegration(p, stopped, 'two')];
  p.clock.now = () => Date.now() - 120_000;
  for (const hook of [hooks[0]!, ...hooks]) await deliver(p, hook, 'push', { n: Math.random() });
  p.clock.now = Date.now;
  await p.send('PUT', `${p.tenant}/agents/${stopped}/budget`, { body: { hourly_limit_usd: 0 } });
  await p.waitForProjections();
  const { queues, asked: connected, stopped: spent, tenants: named } = await read();
  assert.equal(
    queues.map(({ agent_id, count }) => [agent_id, count]),
    [
      [waiting, 2],
      [stopped, 1],
    ],
  );
  assert.equal(
    (connected as readonly { isConnected: boolean }[]).map(({ isConnected }) => isConnected),
    [false, false],
  );
  assert.equal(
    (spent as readonly { agent_id: string }[]).map(({ agent_id }) => agent_id),
    [stopped],
  );
  assert.is(named.size, 1);
});

afterLastTest(async () => {
  await broker.close();
  await p.close();
});

test.run();
