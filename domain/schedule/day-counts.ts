import { instantOf } from '../time-zone.ts';
import { appliesTo, periodsFrom } from './blackout.ts';
import { isTooLate, type SuppressionReason } from './cron-run.ts';
import { dueTimes } from './due-times.ts';
import { MAX_LISTED, type ScheduledJob } from './impact.ts';
import { type PresentBlackout, startAfter } from './preview.ts';
import { nextOccurrence } from './recurrence.ts';

export type Outcome = {
  readonly decision: 'fired' | 'suppressed' | 'missed' | 'skipped';
  readonly reason: SuppressionReason | null;
  /** Whether the decision is not made yet. */
  readonly predicted: boolean;
};

/**
 * How many occurrences of a day have this outcome, and the due times of the first ones, at most MAX_LISTED, in
 * milliseconds since 1970. `day` is the index of the day.
 */
export type OutcomeCount = Outcome & { readonly day: number; readonly runs: number; readonly first: readonly number[] };

export type DayCountOptions = {
  /** The starts of the days, and the end of the last one, in milliseconds since 1970. */
  readonly bounds: readonly number[];
  readonly now: string;
  /** The periods of the blackouts for the agent of the job, as `coveredPeriods` returns them. */
  readonly covered: readonly Covered[];
  /** The due times whose decisions are recorded already, in milliseconds since 1970. */
  readonly decided: ReadonlySet<number>;
};

/** A period of blackouts, in milliseconds since 1970, without its end. */
export type Covered = readonly [from: number, to: number];

const DAY_MS = 86_400_000;

const merged = (periods: readonly Covered[]): readonly Covered[] => {
  const found: [number, number][] = [];
  for (const [from, to] of periods.toSorted(([one], [other]) => one - other)) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
};

/** Returns when blackouts apply to an agent between two times, in ascending order. */
export const coveredPeriods = (blackouts: readonly PresentBlackout[], agent_id: string, from: number, to: number): readonly Covered[] => {
  const day = new Date(from - DAY_MS).toISOString().slice(0, 10);
  return merged(
    blackouts
      .filter((blackout) => appliesTo(blackout, agent_id))
      .flatMap((blackout) =>
        periodsFrom(blackout, day).map(([first, last]): Covered => {
          const end = startAfter(last, 'days', blackout.timezone);
          return [Date.parse(instantOf(`${first}T00:00:00`, blackout.timezone)), end === null ? Number.POSITIVE_INFINITY : Date.parse(end)];
        }),
      )
      .filter(([start, end]) => end > from && start < to),
  );
};

const FIRED: Outcome = { decision: 'fired', reason: null, predicted: true };
const MISSED: Outcome = { decision: 'missed', reason: null, predicted: true };
const INACTIVE: Outcome = { decision: 'suppressed', reason: 'agent_inactive', predicted: true };
const COVERED: Outcome = { decision: 'suppressed', reason: 'blackout', predicted: true };

/**
 * Counts the occurrences of a job for which no decision is recorded, by day and by the decision that would be made in the
 * present state. Yields often, because there can be thousands of occurrences.
 */
export function* predictedCounts(job: ScheduledJob, options: DayCountOptions): Generator<void, readonly OutcomeCount[]> {
  const { bounds, covered, decided } = options;
  const now = Date.parse(options.now);
  const [from, to] = [Math.max(bounds[0]!, Date.parse(job.next_fire_at)), bounds.at(-1)!];
  const counts = new Map<Outcome, { runs: number; first: number[] }>();
  const all: OutcomeCount[] = [];
  let [day, period] = [0, 0];
  const outcomeOf = (at: number, isMissed: boolean): Outcome => {
    if (isMissed) return MISSED;
    if (job.isInactive) return INACTIVE;
    while (period < covered.length && covered[period]![1] <= at) period++;
    return period < covered.length && covered[period]![0] <= at ? COVERED : FIRED;
  };
  const endDay = () => {
    for (const [outcome, count] of counts) all.push({ ...outcome, day, ...count });
    counts.clear();
  };
  const add = (at: number, isMissed: boolean) => {
    while (at >= bounds[day + 1]!) {
      endDay();
      day++;
    }
    if (decided.has(at)) return;
    const outcome = outcomeOf(at, isMissed);
    const count = counts.get(outcome) ?? { runs: 0, first: [] };
    count.runs++;
    if (count.first.length < MAX_LISTED) count.first.push(at);
    counts.set(outcome, count);
  };
  // The newest one that is due already fires if it is not too late, which depends on the next one.
  let newestDue: number | null = null;
  const settle = () => {
    if (newestDue === null) return;
    const due = new Date(newestDue).toISOString();
    add(newestDue, isTooLate(due, nextOccurrence(job.recurrence, due), options.now));
    newestDue = null;
  };
  for (const part of dueTimes(job.recurrence, from, to)) {
    for (const at of part) {
      if (at <= now) {
        if (newestDue !== null) add(newestDue, true);
        newestDue = at;
        continue;
      }
      settle();
      add(at, false);
    }
    yield;
  }
  settle();
  endDay();
  return all;
}
