import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { fold } from '../../domain/aggregate.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { usageCounting } from '../../infra/billing/count-usage.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { pause, startStore } from '../fixtures/store-process.ts';

const TENANT = `c${'t'.repeat(24)}`;
const HOUR_MS = 3_600_000;
const idOf = (letter: string): string => letter.padStart(25, 'c');
const [WITH, WITHOUT] = [idOf('w'), idOf('o')] as const;

const store = await startStore();
const log = openLog(store.url);
/** Returns a time in the middle of the current hour, so that no hour ends during the test. */
const now = () => Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2;
const present = () => new Date(now()).toISOString();

const append = async (category: string, id: string, events: readonly DomainEvent[], at = present()): Promise<void> => {
  const stream = `${category}-${TENANT}.${id}`;
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at, v: 1 };
  const last = await log.last(stream);
  await log.append(
    stream,
    last?.revision ?? 'none',
    events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta })),
  );
};
const limit = (agent_id: string, hourly_limit_micros: number | null) =>
  append(Agent.category, agent_id, [{ type: 'AgentBudgetChanged', data: { hourly_limit_micros } }]);
const used = (session: string, agent_id: string, cost_micros: number, at?: string) => {
  const usage = { agent_id, message_id: idOf('m'), model_id: null, prompt_tokens: 1, completion_tokens: 1, cost_micros };
  return append('session', session, [{ type: 'UsageRecorded', data: usage }], at);
};

const eventsOf = async (agent_id: string, at = present()) =>
  Array.fromAsync(log.read(`budget-${TENANT}.${BudgetHour.budgetHourId(agent_id, at)}`)).catch(() => []);
const hourOf = async (agent_id: string, at?: string) => fold(BudgetHour, (await eventsOf(agent_id, at)) as never);
const committed = async (agent_id: string, at?: string) => BudgetHour.committedMicros(await hourOf(agent_id, at), present());
const countedBy = (count: number) =>
  Array.from({ length: count }, () => usageCounting.start({ log, logger: silentLogger, now, intervalMs: 30 }));

test('with several workers, the usage of each session counts once; 80 % and 100 % of the budget are reported once', async () => {
  let workers = countedBy(2);
  await limit(WITH, 1_000_000);
  await used(idOf('a'), WITH, 300_000);
  await used(idOf('b'), WITH, 200_000);
  await used(idOf('c'), WITHOUT, 900_000);
  await waitUntil(
    'the usage is counted',
    () => committed(WITH),
    (micros) => micros === 500_000,
  );
  assert.is((await eventsOf(WITHOUT)).length, 0, 'nothing is recorded for an agent without a limit');
  await used(idOf('a'), WITH, 310_000);
  await waitUntil(
    'it is counted',
    () => committed(WITH),
    (micros) => micros === 810_000,
  );
  await Promise.all(workers.map((one) => one.close()));

  await used(idOf('b'), WITH, 190_000);
  workers = countedBy(3);
  await waitUntil(
    'usage from while no worker ran is counted',
    () => committed(WITH),
    (micros) => micros === 1_000_000,
  );
  await limit(WITHOUT, 1_000_000);
  await waitUntil(
    'usage from before the limit is counted',
    () => committed(WITHOUT),
    (micros) => micros === 900_000,
  );
  await pause(200);
  const thresholds = async (agent_id: string) =>
    (await eventsOf(agent_id))
      .filter(({ type }) => type === 'BudgetThresholdReached')
      .map(({ data }) => (data as { percent: number }).percent);
  assert.equal([await thresholds(WITH), await thresholds(WITHOUT)], [[80, 100], [80]]);
  assert.equal((await hourOf(WITH)).usage, { [idOf('a')]: 610_000, [idOf('b')]: 390_000 });

  const lastHour = new Date(now() - HOUR_MS).toISOString();
  await used(idOf('d'), WITH, 70_000, lastHour);
  await waitUntil(
    'usage counts in the hour of its message',
    () => committed(WITH, lastHour),
    (micros) => micros === 70_000,
  );
  assert.is(await committed(WITH), 1_000_000);
  await Promise.all(workers.map((one) => one.close()));
});

test('with a real event store and four processes, random concurrent reservations, settlements and expiries never exceed the budget', async () => {
  const LIMIT = 1_000_000;
  let seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let round = 0; round < 5; round++) {
    const agent_id = idOf(`r${round}`);
    const granted: string[] = [];
    let refused = 0;
    const runner = async (name: number): Promise<void> => {
      const transact = createTransact(log, openAggregateCache(log, []));
      for (let index = 0; index < 15; index++) {
        const at = new Date(now() + (index + random(3)) * 1_000).toISOString();
        const budget = { agent_id, limit_micros: LIMIT, at };
        const run = (decide: Parameters<typeof transact>[0]['decide']) =>
          transact({
            aggregate: BudgetHour as never,
            tenant: TENANT,
            id: BudgetHour.budgetHourId(agent_id, at),
            decide,
            meta: { tenant: TENANT, actor: { kind: 'agent', id: agent_id }, at, v: 1 },
            seed: randomUUID(),
          });
        const reservation_id = BudgetHour.reservationId(idOf(`${round}x${name}x${index}`), at);
        const fields = { reservation_id, amount_micros: random(150_000), session_id: null, model_id: null, costs: [] };
        const expires_at = new Date(now() + HOUR_MS).toISOString();
        try {
          await run(BudgetHour.reserve({ ...fields, expires_at }, budget) as never);
          granted.push(reservation_id);
          if (random(3) === 0) await run(BudgetHour.settle(reservation_id, random(fields.amount_micros + 1), budget) as never);
        } catch (error) {
          assert.is((error as { code?: string }).code, 'budget_exceeded', String(error));
          refused++;
        }
      }
    };
    await Promise.all([0, 1, 2, 3].map(runner));
    const events = await eventsOf(agent_id);
    for (let length = 1; length <= events.length; length++) {
      const state = fold(BudgetHour, events.slice(0, length) as never) as BudgetHour.BudgetHour;
      assert.ok(BudgetHour.committedMicros(state, present()) <= LIMIT, `after ${length} events`);
    }
    assert.is(events.filter(({ type }) => type === 'BudgetReserved').length, granted.length);
    assert.ok(granted.length > 5 && refused > 5, `${granted.length} ${refused}`);
  }
  await log.close();
  await store.end();
});

test.run();
