import { instantOf, localTimeOf } from '../time-zone.ts';
import { type BlackoutDays, periodsFrom } from './blackout.ts';
import { type PlannedJob, predictedOccurrences } from './prediction.ts';
import { blackoutOf, type PresentBlackout, startAfter, startOf } from './preview.ts';
import { nextOccurrence } from './recurrence.ts';

/** YYYY-MM-DD. */
export type Period = readonly [first: string, last: string];

/** Runs that a blackout would suppress on one day, and their first due times. */
export type DayImpact = { readonly date: string; readonly runs: number; readonly due_at: readonly string[] };

/**
 * `already`: runs that present blackouts suppress anyway. `skipped_months` (YYYY-MM): without any run. `next_due_at`: after the period. If
 * not `isExact`, the limit of examined due times was reached first: there can be more runs, or more skipped months.
 */
export type JobImpact = {
  readonly runs: number;
  readonly already: number;
  readonly days: readonly DayImpact[];
  readonly skipped_months: readonly string[];
  readonly next_due_at: string | null;
  readonly isExact: boolean;
};

/** `scheduled_at`: when the present schedule was set (RFC 3339). */
export type ScheduledJob = PlannedJob & { readonly scheduled_at: string };

/** Due times that are listed for a day. */
export const MAX_LISTED = 3;

/** The first period that has not ended at `now`. */
export const nextPeriod = (days: BlackoutDays, now: string): Period | null =>
  periodsFrom(days, localTimeOf(now, days.timezone).slice(0, 10))[0] ?? null;

const later = (one: string, other: string): string => (one > other ? one : other);

const justBefore = (at: string): string => new Date(Date.parse(at) - 1).toISOString();

/** How many due times may still be examined; counted down. */
export type ImpactBudget = { left: number };

export type ImpactOptions = {
  readonly days: BlackoutDays;
  readonly period: Period;
  readonly now: string;
  readonly blackouts: readonly PresentBlackout[];
  /** Ids of occurrences whose decisions are recorded. */
  readonly decided: ReadonlySet<string>;
  readonly budget: ImpactBudget;
};

type Steps<T> = Generator<void, T>;

/** 'unknown' if the limit of examined due times was reached before a run was found. */
type IsDue = boolean | 'unknown';

/** Whether the job is due outside of present blackouts. `to` is null for no end. */
const runsBetween = function* (job: ScheduledJob, from: string, to: string | null, { blackouts, budget }: ImpactOptions): Steps<IsDue> {
  let due = nextOccurrence(job.recurrence, justBefore(later(from, job.scheduled_at)));
  for (; due !== null && (to === null || due < to); due = nextOccurrence(job.recurrence, due)) {
    if (!blackoutOf(blackouts, job.agent_id, due)) return true;
    if (budget.left-- <= 0) return 'unknown';
    yield;
  }
  return false;
};

/** Whether the job runs in the month on other days than those of the period; past runs count. */
const runsInMonth = function* (job: ScheduledJob, month: string, options: ImpactOptions): Steps<IsDue> {
  const { timezone: zone } = options.days;
  const [first, last] = options.period;
  const begun = later(instantOf(`${first}T00:00:00`, zone), options.now);
  const end = startAfter(`${month}-01`, 'months', zone);
  const start = instantOf(`${month}-01T00:00:00`, zone);
  const before = yield* runsBetween(job, start, end !== null && end < begun ? end : begun, options);
  if (before !== false) return before;
  const after = startAfter(last, 'days', zone);
  return after !== null && (yield* runsBetween(job, later(start, after), end, options));
};

/** Counts runs that would fire now, and would then be suppressed. Yields after each due time, because there can be thousands. */
export const impactOn = function* (job: ScheduledJob, options: ImpactOptions): Steps<JobImpact> {
  const { days, period, decided, budget, now, blackouts } = options;
  const { timezone: zone } = days;
  const [first, last] = period;
  const byDay = new Map<string, { runs: number; due_at: string[] }>();
  let [runs, already, isExact] = [0, 0, true];
  for (const one of predictedOccurrences([job], { from: later(startOf(first, -1), now), to: startOf(last, 2), now, blackouts })) {
    yield;
    const date = localTimeOf(one.due_at, zone).slice(0, 10);
    if (date < first || date > last || decided.has(one.id)) continue;
    if (budget.left-- <= 0) {
      isExact = false;
      break;
    }
    if (one.reason === 'blackout') already++;
    if (one.decision !== 'fired') continue;
    const day = byDay.get(date) ?? { runs: 0, due_at: [] };
    byDay.set(date, { runs: day.runs + 1, due_at: day.due_at.length < MAX_LISTED ? [...day.due_at, one.due_at] : day.due_at });
    runs++;
  }
  const after = startAfter(last, 'days', zone);
  const skipped_months: string[] = [];
  for (const month of isExact ? new Set([...byDay.keys()].map((date) => date.slice(0, 7))) : []) {
    const isDue = yield* runsInMonth(job, month, options);
    if (isDue === 'unknown') isExact = false;
    if (isDue === false) skipped_months.push(month);
  }
  return {
    ...{ runs, already, isExact, skipped_months },
    days: [...byDay].map(([date, day]) => ({ date, ...day })),
    next_due_at: after === null ? null : nextOccurrence(job.recurrence, justBefore(after)),
  };
};
