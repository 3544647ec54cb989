import { instantOf, localTimeOf } from '../time-zone.ts';
import { type BlackoutDays, periodsFrom } from './blackout.ts';
import { type PlannedJob, type PredictionOptions, predictedOccurrences } from './prediction.ts';
import { startOf } from './preview.ts';
import { nextOccurrence } from './recurrence.ts';

/** The first and the last day (YYYY-MM-DD) of a period of a blackout. */
export type Period = readonly [first: string, last: string];

/** The runs of a job that a blackout would suppress on one day, and the first due times of them. */
export type DayImpact = { readonly date: string; readonly runs: number; readonly due_at: readonly string[] };

/**
 * What a blackout would change for one job in one period. `already` is how many runs present blackouts suppress there
 * anyway. `next_due_at` is the first due time after the period; null if there is none. If `isEntire`, the job would not
 * run at all in the calendar months of the period. If not `isExact`, there are more runs than were examined.
 */
export type JobImpact = {
  readonly runs: number;
  readonly already: number;
  readonly days: readonly DayImpact[];
  readonly next_due_at: string | null;
  readonly isEntire: boolean;
  readonly isExact: boolean;
};

/** The maximum number of due times that a day lists. */
const MAX_LISTED = 3;

const LAST_DAY = '9999-12-31';

/** Returns the first period of a blackout that has not ended at `now`; null if there is none. */
export const nextPeriod = (days: BlackoutDays, now: string): Period | null =>
  periodsFrom(days, localTimeOf(now, days.timezone).slice(0, 10))[0] ?? null;

/** Returns the start of the day after a date, or of the month after it, in a time zone. */
const startAfter = (date: string, unit: 'days' | 'months', zone: string): string | null => {
  if (date >= LAST_DAY) return null;
  const start = Temporal.PlainDate.from(unit === 'months' ? `${date.slice(0, 7)}-01` : date).add({ [unit]: 1 });
  return start.year > 9_999 ? null : instantOf(`${start}T00:00:00`, zone);
};

const justBefore = (at: string): string => new Date(Date.parse(at) - 1).toISOString();

/** Whether the job is due in the calendar months of a period, but not on its days. */
const runsBeside = ({ recurrence }: PlannedJob, [first, last]: Period, zone: string, next: string | null): boolean => {
  const start = instantOf(`${first}T00:00:00`, zone);
  const earlier = nextOccurrence(recurrence, justBefore(instantOf(`${first.slice(0, 7)}-01T00:00:00`, zone)));
  if (earlier !== null && earlier < start) return true;
  const end = startAfter(last, 'months', zone);
  return next !== null && (end === null || next < end);
};

/** What limits the calculation: how many due times it may still examine. It counts them down. */
export type ImpactBudget = { left: number };

/**
 * Returns what a blackout on `days` would change for a job in the given period: the runs that would fire now, and would
 * then be suppressed. `decided` are the ids of occurrences whose decisions are recorded already.
 */
export const impactOn = (
  job: PlannedJob,
  { days, period, decided, budget }: { days: BlackoutDays; period: Period; decided: ReadonlySet<string>; budget: ImpactBudget },
  { now, blackouts }: Pick<PredictionOptions, 'now' | 'blackouts'>,
): JobImpact => {
  const { timezone: zone } = days;
  const [first, last] = period;
  const start = startOf(first, -1);
  const byDay = new Map<string, { runs: number; due_at: string[] }>();
  let [runs, already, isExact] = [0, 0, true];
  for (const one of predictedOccurrences([job], { from: start > now ? start : now, to: startOf(last, 2), now, blackouts })) {
    if (budget.left-- <= 0) {
      isExact = false;
      break;
    }
    const date = localTimeOf(one.due_at, zone).slice(0, 10);
    if (date < first || date > last || decided.has(one.id)) continue;
    if (one.reason === 'blackout') already++;
    if (one.decision !== 'fired') continue;
    const day = byDay.get(date) ?? { runs: 0, due_at: [] };
    byDay.set(date, { runs: day.runs + 1, due_at: day.due_at.length < MAX_LISTED ? [...day.due_at, one.due_at] : day.due_at });
    runs++;
  }
  const after = startAfter(last, 'days', zone);
  const next_due_at = after === null ? null : nextOccurrence(job.recurrence, justBefore(after));
  const isEntire = runs > 0 && !runsBeside(job, period, zone, next_due_at);
  return { runs, already, days: [...byDay].map(([date, day]) => ({ date, ...day })), next_due_at, isEntire, isExact };
};
