import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { occurrenceId } from '../../domain/schedule/cron-run.ts';
import { type ImpactBudget, type ImpactOptions, impactOn, nextPeriod, type ScheduledJob } from '../../domain/schedule/impact.ts';
import type { PresentBlackout } from '../../domain/schedule/preview.ts';
import { nextOccurrence, type Recurrence } from '../../domain/schedule/recurrence.ts';
import { parseCron } from '../../infra/cron-expression.ts';

const NOW = '2026-11-20T10:00:00.000Z';

type Given = {
  readonly cron?: string;
  readonly recurrence?: Recurrence;
  readonly zone?: string;
  readonly start: string;
  readonly end: string;
  readonly now?: string;
  readonly scheduled_at?: string;
  readonly blackouts?: readonly Partial<PresentBlackout>[];
  readonly left?: number;
  readonly yearly?: boolean;
  /** The due times that are decided already. */
  readonly decided?: readonly string[];
};

const jobOf = ({ cron = '0 12 * * *', recurrence, now = NOW, scheduled_at = '2026-01-01T00:00:00.000Z' }: Given): ScheduledJob => {
  const used = recurrence ?? { kind: 'cron', expression: parseCron(cron)!, zone: 'UTC' };
  const from = now > scheduled_at ? now : scheduled_at;
  return { id: 'cjob', agent_id: 'cagent', recurrence: used, scheduled_at, next_fire_at: nextOccurrence(used, from)!, isInactive: false };
};

const NONE = { agent_id: null, name: '', reason: null, recurring_yearly: false, timezone: 'UTC' };

const calculate = (given: Given, budget: ImpactBudget = { left: given.left ?? 20_000 }) => {
  const { start, end, zone = 'UTC', now = NOW, yearly = false } = given;
  const days = { start_date: start, end_date: end, recurring_yearly: yearly, timezone: zone };
  const blackouts = (given.blackouts ?? []).map((one, n) => ({ ...NONE, id: `c${n}`, start_date: '', end_date: '', ...one }));
  const decided = new Set((given.decided ?? []).map((due) => occurrenceId('cjob', due)));
  const options: ImpactOptions = { days, period: nextPeriod(days, now)!, now, blackouts, decided, budget };
  const steps = impactOn(jobOf(given), options);
  for (let turns = 0; ; turns++) {
    const { done, value } = steps.next();
    if (done) return { ...value, turns };
  }
};

/** Due twice in December: once in the period, and once in a present blackout. */
const TWICE_A_MONTH: Given = {
  ...{ cron: '0 9 1,15 * *', start: '2026-12-15', end: '2026-12-15' },
  blackouts: [{ start_date: '2026-12-01', end_date: '2026-12-02' }],
};

const SKIPPED: readonly (readonly [name: string, given: Given, months: readonly string[]])[] = [
  ['daily, a few days', { start: '2026-12-01', end: '2026-12-04' }, []],
  ['daily, a whole month', { start: '2026-12-01', end: '2026-12-31' }, ['2026-12']],
  ['daily, a whole month that has begun', { start: '2026-11-01', end: '2026-11-30' }, []],
  ['daily, the rest of a month in which the job is new', { start: '2026-11-20', end: '2026-11-30', scheduled_at: NOW }, ['2026-11']],
  ['monthly, its only day', { cron: '0 12 6 * *', start: '2026-12-06', end: '2026-12-06' }, ['2026-12']],
  ['monthly on the 1st, into January', { cron: '0 9 1 * *', start: '2026-12-24', end: '2027-01-01' }, ['2027-01']],
  ['three months', { start: '2026-12-15', end: '2027-02-10' }, ['2027-01']],
  [
    'weekly, planned after its first Monday of the month',
    { cron: '0 9 * * 1', start: '2026-11-23', end: '2026-11-30', scheduled_at: '2026-11-20T00:00:00.000Z' },
    ['2026-11'],
  ],
  ['the other run of the month is in another blackout', TWICE_A_MONTH, ['2026-12']],
  ['once', { recurrence: { kind: 'once', at: '2026-12-24T09:00:00.000Z' }, start: '2026-12-24', end: '2026-12-24' }, ['2026-12']],
];

for (const [name, given, months] of SKIPPED)
  test(`the impact of a blackout names the months without any run: ${name}`, () => assert.equal(calculate(given).skipped_months, months));

const COUNTED: readonly (readonly [name: string, given: Given, runs: number, already: number, isExact: boolean])[] = [
  ['the days are those of its zone', { cron: '30 23 * * *', zone: 'Asia/Tokyo', start: '2026-12-01', end: '2026-12-01' }, 1, 0, true],
  ['a period that has begun counts from now', { cron: '0 * * * *', start: '2026-11-20', end: '2026-11-20' }, 13, 0, true],
  ['a leap day of a yearly blackout', { start: '2024-02-29', end: '2024-02-29', yearly: true }, 1, 0, true],
  [
    'present blackouts suppress some',
    { start: '2026-12-01', end: '2026-12-03', blackouts: [{ start_date: '2026-12-02', end_date: '2026-12-02' }] },
    2,
    1,
    true,
  ],
  [
    'a yearly present blackout',
    { start: '2026-12-01', end: '2026-12-03', blackouts: [{ start_date: '2020-12-02', end_date: '2020-12-02', recurring_yearly: true }] },
    2,
    1,
    true,
  ],
  ['a budget that is used up', { cron: '* * * * *', start: '2026-12-01', end: '2026-12-01', left: 100 }, 100, 0, false],
  ['a budget that just suffices', { start: '2026-12-01', end: '2026-12-03', left: 3 }, 3, 0, true],
  ['a budget that ends before the month of the period is examined', { ...TWICE_A_MONTH, left: 1 }, 1, 0, false],
  ['a budget that suffices for the month, too', { ...TWICE_A_MONTH, left: 2 }, 1, 0, true],
  [
    'decided runs need no budget',
    { start: '2026-12-01', end: '2026-12-03', decided: ['2026-12-01T12:00:00.000Z', '2026-12-02T12:00:00.000Z'], left: 1 },
    1,
    0,
    true,
  ],
  ['from the first year', { start: '0001-01-01', end: '2026-11-21' }, 2, 0, true],
];

for (const [name, given, runs, already, isExact] of COUNTED)
  test(`the impact of a blackout counts the runs of its days: ${name}`, () => {
    const found = calculate(given);
    assert.equal([found.runs, found.already, found.isExact], [runs, already, isExact]);
    assert.ok(found.turns >= runs, 'the calculation can be interrupted after each due time');
  });

test.run();
