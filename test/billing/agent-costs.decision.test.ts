// share
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { topModel, totalOf, totalsBy, type UsageRow } from '../../domain/billing/agent-costs.ts';
import { addDays, hasUnusualDay, isUnusual } from '../../domain/billing/anomaly.ts';
import type { Recorded } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { costs } from '../../projections/billing/cost.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { recorded } from '../fixtures/given.ts';
import { openShare } from '../fixtures/share.ts';

const USD = 1_000_000;
const share = openShare();

test('the cost of a day is unusual if it is at least 1 USD above the median of the days before plus 5 median absolute deviations', () => {
  const history = [1, 2, 3, 4, 5, 6, 7].map((usd) => usd * USD); // median 4 USD, median absolute deviation 2 USD
  assert.is(isUnusual(15 * USD, history), true);
  assert.is(isUnusual(15 * USD - 1, history), false);
  assert.is(isUnusual(14 * USD + 1, history), false, 'less than 1 USD above');
  const even = [1, 1, 2, 2, 4, 4, 4, 10].map((usd) => usd * USD); // median 3 USD, median absolute deviation 1 USD
  assert.equal([isUnusual(9 * USD, even), isUnusual(9 * USD - 1, even)], [true, false]);
  assert.equal([isUnusual(USD, Array(30).fill(0)), isUnusual(USD - 1, Array(30).fill(0))], [true, false]);
});

test('with fewer than 7 days of history, no cost of a day is unusual', () => {
  assert.is(isUnusual(1_000 * USD, Array(6).fill(USD)), false);
  assert.is(isUnusual(1_000 * USD, Array(7).fill(USD)), true);
});

test('the history to which the cost of a day is compared starts at the first use within the 30 days before that day, and includes days without cost', () => {
  const day = '2026-03-31';
  const unusual = (entries: readonly (readonly [number, number])[], from = day, to = addDays(day, 1)): boolean =>
    hasUnusualDay(
      new Map([[day, 50 * USD], ...entries.map(([before, usd]): [string, number] => [addDays(day, -before), usd * USD])]),
      from,
      to,
    );
  assert.is(unusual([[7, 1]]), true, 'six days without cost count');
  assert.is(unusual([[6, 1]]), false);
  assert.is(unusual([]), false, 'the first use');
  assert.is(unusual([[30, 1]]), true);
  assert.is(unusual([[31, 1]]), false, 'what is older does not count');
  assert.is(unusual([[7, 1]], '2026-03-01', day), false, 'the day is not in the period');
  assert.is(unusual([...Array(30).keys()].map((index) => [index + 1, 60] as const)), false, 'it is usual');
});

test('the top model of an agent is the model with the highest total cost; usage without a model is ignored', () => {
  const row = (model_id: string, cost_micros: number, requests = 1): UsageRow => ({
    ...{ agent_id: 'a', model_id, cause_kind: 'user', cause_id: 'u' },
    ...{ requests, input_tokens: 0, output_tokens: 0, cost_micros },
  });
  assert.is(topModel([row('m', 3), row('n', 4), row('m', 2), row('', 100)]), 'm');
  assert.is(topModel([row('m', 0, 1), row('n', 0, 2)]), 'n');
  assert.is(topModel([row('', 5)]), null);
  assert.is(topModel([]), null);
});

/**
 * Generates one message with its usage. Agent, model, cause and day are small numbers, so that some messages share
 * them.
 */
const usage = fc.record({
  agent: fc.nat(2),
  model: fc.option(fc.nat(2)),
  cause: fc.option(fc.record({ kind: fc.constantFrom(...Session.CAUSE_KINDS), id: fc.option(fc.nat(3)) })),
  day: fc.nat(3),
  tokens: fc.nat(100_000),
  cost: fc.nat(10_000_000_000),
});
type Used = typeof usage extends fc.Arbitrary<infer T> ? T : never;

const eventsOf = (history: readonly Used[]): Recorded<Session.SessionEvent>[] =>
  recorded<Session.SessionEvent>(
    Session.category,
    history.map(({ agent, model, cause, tokens, cost }, index) => ({
      type: 'UsageRecorded',
      data: {
        ...{ agent_id: `a${agent}`, message_id: `m${index}`, model_id: model === null ? null : `model ${model}` },
        ...{ prompt_tokens: tokens, completion_tokens: 1, cost_micros: cost },
        ...(cause && { cause_kind: cause.kind, cause_id: cause.id === null ? null : `c${cause.id}` }),
      },
    })),
  ).map((event, index) => ({ ...event, at: `2026-01-0${history[index]!.day + 1}T00:00:00.000Z` }));

/** Applies batches of events to the projection and returns the rows of one of its tables. */
const rowsAfter = (table: string, ...batches: Recorded[][]) => {
  const store = openMemoryStore([costs]);
  for (const batch of batches) store.feed(batch);
  assert.equal(store.unapplied(costs.name), []);
  return [...store.rows(costs.name, table).values()].map(({ row }) => row as Record<string, string & number>);
};
const byText = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

const usageRows = (rows: readonly Record<string, string & number>[]): UsageRow[] =>
  rows.map(({ prompt_tokens, completion_tokens, requests = 1, ...row }) => ({
    ...(row as never as UsageRow),
    ...{ requests, input_tokens: prompt_tokens!, output_tokens: completion_tokens! },
  }));

share.test(
  'in random histories, the costs by agent, by model, by day and by cause each add up to the exact total, whatever the batches in which the events are applied',
  () => {
    fc.assert(
      fc.property(fc.array(usage, { maxLength: 12 }), fc.nat(12), (history, cut) => {
        const events = eventsOf(history);
        const days = rowsAfter('days', events);
        const expected = { requests: history.length, input_tokens: 0, output_tokens: history.length, cost_micros: 0 };
        for (const { tokens, cost } of history) {
          expected.input_tokens += tokens;
          expected.cost_micros += cost;
        }
        const rows = usageRows(days);
        assert.equal(totalOf(rows), expected);
        for (const keyOf of [
          ({ agent_id }: UsageRow) => agent_id,
          ({ model_id }: UsageRow) => model_id,
          ({ cause_kind, cause_id }: UsageRow) => `${cause_kind} ${cause_id}`,
        ])
          assert.equal(totalOf(totalsBy(rows, keyOf).values()), expected);
        for (const agent of [0, 1, 2]) {
          const cost = history.filter((one) => one.agent === agent).reduce((sum, one) => sum + one.cost, 0);
          assert.is(totalsBy(rows, ({ agent_id }) => agent_id).get(`a${agent}`)?.cost_micros ?? 0, cost);
        }
        assert.equal(totalOf(usageRows(rowsAfter('messages', events))), expected);
        const again = rowsAfter('days', events.slice(0, cut), events.slice(cut));
        assert.equal(again.sort(byText), days.sort(byText));
      }),
      share.runsOf(10_000),
    );
  },
);

test.run();
