import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fold } from '../../domain/aggregate.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { omit } from '../../domain/omit.ts';
import { Refusal } from '../../domain/refusal.ts';
import { given, recorded } from '../fixtures/given.ts';

const HOUR = '2026-01-01T00:00:00.000Z';
const AGENT = `c${'a'.repeat(24)}`;
const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;
const idOf = (name: string): string => BudgetHour.reservationId(`c${name.padStart(24, '0')}`, HOUR);
const budgetAt = (minute: number, limit_micros: number | null = 100): BudgetHour.Budget => ({
  agent_id: AGENT,
  limit_micros,
  at: at(minute),
});
const budget = budgetAt(0);

type Wanted = Partial<BudgetHour.Request>;
const request = (name: string, amount_micros: number, more: Wanted = {}): BudgetHour.Request => ({
  reservation_id: idOf(name),
  amount_micros,
  session_id: null,
  model_id: null,
  expires_at: at(10),
  costs: [],
  ...more,
});
const reserved = (name: string, amount_micros: number, more: Wanted = {}): BudgetHour.BudgetEvent => {
  const fields = omit(request(name, amount_micros, more), 'costs');
  return { type: 'BudgetReserved', data: { agent_id: AGENT, hour: HOUR, ...fields } };
};
const settled = (name: string, settled_micros: number): BudgetHour.BudgetEvent => ({
  type: 'BudgetSettled',
  data: { agent_id: AGENT, hour: HOUR, reservation_id: idOf(name), settled_micros },
});
const counted = (session_id: string, cost_micros: number): BudgetHour.BudgetEvent => ({
  type: 'BudgetUsageCounted',
  data: { agent_id: AGENT, hour: HOUR, sessions: [{ session_id, cost_micros }] },
});
const reached = (percent: BudgetHour.Threshold, committed_micros: number, limit_micros = 100): BudgetHour.BudgetEvent => ({
  type: 'BudgetThresholdReached',
  data: { agent_id: AGENT, hour: HOUR, percent, committed_micros, limit_micros },
});

test('a reservation is granted up to the budget of the hour; if it is one micro-dollar more, it is refused, and the time to retry is the end of the hour', () => {
  given(BudgetHour, reserved('a', 60))
    .when(BudgetHour.reserve(request('b', 19), budget))
    .emits(reserved('b', 19));
  given(BudgetHour, reserved('a', 60))
    .when(BudgetHour.reserve(request('b', 40), budget))
    .emits(reserved('b', 40), reached(80, 100), reached(100, 100));
  given(BudgetHour, reserved('a', 60))
    .when(BudgetHour.reserve(request('b', 41), budget))
    .refuses('budget_exceeded');
  try {
    BudgetHour.reserve(request('b', 101), budgetAt(45))(BudgetHour.initial);
    assert.unreachable();
  } catch (error) {
    const { extra } = error as Refusal;
    assert.equal([extra.retryAfter, extra.members], [900, { limit_usd: 0.0001, left_usd: 0.0001, resets_at: '2026-01-01T01:00:00.000Z' }]);
  }
});

test('without a budget, every reservation is granted; with a budget of 0, only a reservation of 0 is granted', () => {
  given(BudgetHour)
    .when(BudgetHour.reserve(request('a', 1e12), budgetAt(0, null)))
    .emits(reserved('a', 1e12));
  given(BudgetHour)
    .when(BudgetHour.reserve(request('a', 1), budgetAt(0, 0)))
    .refuses('budget_exceeded');
  given(BudgetHour)
    .when(BudgetHour.reserve(request('a', 0), budgetAt(0, 0)))
    .emits(reserved('a', 0));
  assert.is(BudgetHour.isSpent(BudgetHour.initial, budgetAt(0, 0)), true);
  assert.is(BudgetHour.isSpent(BudgetHour.initial, budgetAt(0, null)), false);
});

test('a reservation counts with its full amount until it is settled or expires; after it is settled, the amount that was spent counts instead', () => {
  const hour = (...events: BudgetHour.BudgetEvent[]) => given(BudgetHour, ...events).state;
  assert.is(BudgetHour.committedMicros(hour(reserved('a', 60)), at(9)), 60);
  assert.is(BudgetHour.committedMicros(hour(reserved('a', 60)), at(10)), 0, 'it has expired');
  assert.is(BudgetHour.committedMicros(hour(reserved('a', 60), settled('a', 25)), at(0)), 25);
  assert.is(BudgetHour.committedMicros(hour(reserved('a', 60), settled('a', 25)), at(59)), 25, 'a settled one does not expire');
});

test('a reservation can be settled after its expiry time, and with an amount above the reserved one', () =>
  given(BudgetHour, reserved('a', 60))
    .when(BudgetHour.settle(idOf('a'), 120, budgetAt(30)))
    .emits(settled('a', 120), reached(80, 120), reached(100, 120)));

test('settling a reservation a second time emits no event if the amount is the same; with another amount, or for an unknown reservation, settling is refused', () => {
  const one = given(BudgetHour, reserved('a', 60), settled('a', 25));
  one.when(BudgetHour.settle(idOf('a'), 25, budget)).emits();
  one.when(BudgetHour.settle(idOf('a'), 26, budget)).refuses('conflict', '/amount_usd');
  one.when(BudgetHour.settle(idOf('b'), 25, budget)).refuses('not_found');
});

test('if both the messages of a session and its settlements report spending, only the larger of the two sums counts; open reservations are added to it', () => {
  const of = { session_id: 's' };
  const committed = (...events: BudgetHour.BudgetEvent[]) => BudgetHour.committedMicros(given(BudgetHour, ...events).state, at(1));
  assert.is(committed(counted('s', 30), reserved('a', 20, of), settled('a', 20)), 30);
  assert.is(committed(counted('s', 30), reserved('a', 40, of), settled('a', 40)), 40);
  assert.is(committed(counted('s', 30), reserved('a', 40, of)), 70);
  assert.is(committed(counted('s', 30), reserved('a', 40), settled('a', 40)), 70, 'a reservation without a session');
  assert.is(committed(counted('s', 30), counted('t', 5), counted('s', 31)), 36, 'the last total of each session');
});

test('a reservation is refused if it would exceed the budget together with spending of its session that the hour does not yet contain', () => {
  const one = given(BudgetHour, counted('s', 30));
  one
    .when(BudgetHour.reserve(request('a', 20, { session_id: 's', costs: [{ session_id: 's', cost_micros: 81 }] }), budget))
    .refuses('budget_exceeded');
  one
    .when(BudgetHour.reserve(request('a', 20, { session_id: 's', costs: [{ session_id: 's', cost_micros: 10 }] }), budget))
    .emits(reserved('a', 20, { session_id: 's' }));
});

test("the usage of a session counts once, however often and in whatever order the session's totals arrive", () => {
  const one = given(BudgetHour, counted('s', 30));
  one.when(BudgetHour.countUsage([{ session_id: 's', cost_micros: 30 }], budget, HOUR)).emits();
  one.when(BudgetHour.countUsage([{ session_id: 's', cost_micros: 29 }], budget, HOUR)).emits();
  one
    .when(
      BudgetHour.countUsage(
        [
          { session_id: 's', cost_micros: 31 },
          { session_id: 't', cost_micros: 0 },
        ],
        budget,
        HOUR,
      ),
    )
    .emits(counted('s', 31));
});

test('reaching 80 % of the budget is reported once an hour, and so is reaching 100 %, even if they are reached because the budget was lowered', () => {
  const count = (cost_micros: number, limit = 100) => BudgetHour.countUsage([{ session_id: 's', cost_micros }], budgetAt(0, limit), HOUR);
  given(BudgetHour).when(count(79)).emits(counted('s', 79));
  given(BudgetHour).when(count(80)).emits(counted('s', 80), reached(80, 80));
  given(BudgetHour, counted('s', 80), reached(80, 80)).when(count(99)).emits(counted('s', 99));
  given(BudgetHour, counted('s', 80), reached(80, 80)).when(count(250)).emits(counted('s', 250), reached(100, 250));
  given(BudgetHour, counted('s', 250), reached(80, 80), reached(100, 250)).when(count(260)).emits(counted('s', 260));
  given(BudgetHour, counted('s', 50))
    .when(count(50, 60))
    .emits(reached(80, 50, 60));
});

test('at most a hundred refused reservations are recorded per hour, each with the id of the reservation', () => {
  const refusedRequest = request('b', 60);
  const refused = BudgetHour.recordRefusal(refusedRequest, budget);
  const event: BudgetHour.BudgetEvent = {
    type: 'BudgetRefused',
    data: {
      ...{ agent_id: AGENT, hour: HOUR, session_id: null, model_id: null, amount_micros: 60, committed_micros: 50, limit_micros: 100 },
      reservation_id: refusedRequest.reservation_id,
    },
  };
  given(BudgetHour, reserved('a', 50)).when(refused).emits(event);
  given(BudgetHour, reserved('a', 50), ...Array(99).fill(event))
    .when(refused)
    .emits(event);
  given(BudgetHour, reserved('a', 50), ...Array(100).fill(event))
    .when(refused)
    .emits();
});

test('a refused session is recorded while the budget is spent, at most a hundred times per hour', () => {
  const refused: BudgetHour.BudgetEvent = {
    type: 'BudgetSessionRefused',
    data: { agent_id: AGENT, hour: HOUR, committed_micros: 100, limit_micros: 100 },
  };
  const refuse = BudgetHour.refuseSession(budget);
  given(BudgetHour, counted('s', 100)).when(refuse).emits(refused);
  given(BudgetHour, counted('s', 99)).when(refuse).emits();
  given(BudgetHour, counted('s', 100))
    .when(BudgetHour.refuseSession(budgetAt(0, null)))
    .emits();
  given(BudgetHour, counted('s', 100), ...Array(99).fill(refused))
    .when(refuse)
    .emits(refused);
  given(BudgetHour, counted('s', 100), ...Array(100).fill(refused))
    .when(refuse)
    .emits();
});

test('the committed amount is the sum of open reservations, settlements, and the costs of sessions beyond their settlements', () => {
  const session = { session_id: 's' };
  const history = [reserved('a', 30, session), reserved('b', 10), reserved('c', 5), settled('a', 20), settled('b', 7), counted('s', 45)];
  const state = fold(BudgetHour, recorded('budget', history));
  assert.equal(BudgetHour.commitmentOf(state, at(5)), { open: 5, settled: 27, sessions: 25 });
  assert.equal(BudgetHour.commitmentOf(state, at(10)), { open: 0, settled: 27, sessions: 25 }, 'the reservation that was left has expired');
  assert.is(BudgetHour.committedMicros(state, at(5)), 57);
});

test('the id of a reservation contains its hour; agent and hour of a budget can be derived from the id of the budget', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('2020-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }), (date) => {
      const time = date.toISOString();
      const id = BudgetHour.reservationId(`c${'z'.repeat(24)}`, time);
      assert.match(id, /^c[a-z0-9]{24}$/);
      assert.is(BudgetHour.hourOfReservation(id), BudgetHour.hourOf(time));
      assert.is(BudgetHour.budgetHourId(AGENT, BudgetHour.hourOfReservation(id)), BudgetHour.budgetHourId(AGENT, time));
    }),
  );
});

/**
 * A step of a simulated runner. The runner decides on the state that it read in an earlier step. That state may be
 * outdated.
 */
type Step = {
  readonly runner: number;
  readonly kind: 'read' | 'write' | 'settle';
  readonly amount: number;
  readonly minute: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  runner: fc.integer({ min: 0, max: 3 }),
  kind: fc.constantFrom('read', 'write', 'write', 'settle'),
  amount: fc.integer({ min: 0, max: 70 }),
  minute: fc.integer({ min: 0, max: 2 }),
});

test('however reads and writes are interleaved, the granted reservations of an hour together never exceed the budget', () => {
  let [granted, refused, conflicts] = [0, 0, 0];
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const events: BudgetHour.BudgetEvent[] = [];
      const known = [0, 0, 0, 0];
      const names: string[] = [];
      let minute = 0;
      for (const { runner, kind, amount, minute: passed } of steps) {
        minute = Math.min(59, minute + passed);
        if (kind === 'read') known[runner] = events.length;
        const name = `${names.length}`;
        const more = { expires_at: at(Math.min(59, minute + 5)), session_id: amount % 2 === 0 ? `s${runner}` : null };
        // Only what a settlement adds to its reservation can exceed the budget: a larger amount, or a late one.
        const open = Object.values(fold(BudgetHour, recorded('budget', events)).reservations).find(
          ({ settled_micros, expires_at }) => settled_micros === null && expires_at > at(minute),
        );
        const decision = {
          read: () => [],
          write: BudgetHour.reserve(request(name, amount, more), budgetAt(minute)),
          settle: open ? BudgetHour.settle(open.reservation_id, Math.min(amount, open.amount_micros), budgetAt(minute)) : () => [],
        }[kind];
        const state = fold(BudgetHour, recorded('budget', events.slice(0, known[runner])));
        try {
          const added = decision(state);
          if (added.length === 0) continue;
          // Refuse an append if the runner does not know the latest event, as the event store would.
          if (known[runner] !== events.length) {
            conflicts++;
            continue;
          }
          events.push(...added);
          known[runner] = events.length;
          if (kind === 'write') {
            names.push(name);
            granted++;
          }
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          refused++;
        }
        const all = fold(BudgetHour, recorded('budget', events));
        assert.ok(BudgetHour.committedMicros(all, at(minute)) <= 100);
      }
    }),
    { numRuns: 1_000 },
  );
  assert.ok(granted > 500 && refused > 100 && conflicts > 500, `${granted} ${refused} ${conflicts}`);
});

test.run();
