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

/** A period of blackouts, in milliseconds since 1970; `to` is exclusive. */
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

/** Returns when blackouts apply to an agent between two times, in ascending order. Yields often, because there can be hundreds of blackouts. */
export function* coveredPeriods(
  blackouts: readonly PresentBlackout[],
  agent_id: string,
  from: number,
  to: number,
): Generator<void, readonly Covered[]> {
  // The zone of a blackout can be a day before or after UTC.
  const [first, last] = [from - DAY_MS, to + DAY_MS].map((ms) => new Date(ms).toISOString().slice(0, 10));
  const found: Covered[] = [];
  for (const blackout of blackouts.filter((one) => appliesTo(one, agent_id))) {
    for (const [start, end] of periodsFrom(blackout, first!, last)) {
      const after = startAfter(end, 'days', blackout.timezone);
      found.push([
        Date.parse(instantOf(`${start}T00:00:00`, blackout.timezone)),
        after === null ? Number.POSITIVE_INFINITY : Date.parse(after),
      ]);
    }
    yield;
  }
  return merged(found.filter(([start, end]) => end > from && start < to));
}

const FIRED: Outcome = { decision: 'fired', reason: null, predicted: true };
const MISSED: Outcome = { decision: 'missed', reason: null, predicted: true };
const INACTIVE: Outcome = { decision: 'suppressed', reason: 'agent_inactive', predicted: true };
const COVERED: Outcome = { decision: 'suppressed', reason: 'blackout', predicted: true };

/**
 * The state of a count. `day` and `period` are the indexes of the present day and of the present or next period of
 * blackouts; `counts` are those of the day, and `all` those of the days before.
 */
type Tally = {
  readonly job: ScheduledJob;
  readonly options: DayCountOptions;
  readonly counts: Map<Outcome, { runs: number; first: number[] }>;
  readonly all: OutcomeCount[];
  day: number;
  period: number;
};

/** Adds the due times with the indexes from `from` (inclusive) to `to` (exclusive). */
const count = ({ counts }: Tally, outcome: Outcome, times: readonly number[], [from, to]: readonly [number, number]): void => {
  const found = counts.get(outcome) ?? { runs: 0, first: [] };
  found.runs += to - from;
  for (let index = from; index < to && found.first.length < MAX_LISTED; index++) found.first.push(times[index]!);
  counts.set(outcome, found);
};

/** Moves to the day and to the period of blackouts of a time. */
const moveTo = (tally: Tally, at: number): void => {
  const { bounds, covered } = tally.options;
  for (; at >= bounds[tally.day + 1]!; tally.day++) {
    for (const [outcome, found] of tally.counts) tally.all.push({ ...outcome, day: tally.day, ...found });
    tally.counts.clear();
  }
  while (tally.period < covered.length && covered[tally.period]![1] <= at) tally.period++;
};

const plannedAt = ({ job, options: { covered }, period }: Tally, at: number): Outcome => {
  if (job.isInactive) return INACTIVE;
  return period < covered.length && covered[period]![0] <= at ? COVERED : FIRED;
};

/** Returns the time until which the day and the blackouts are the same as at a time. */
const sameUntil = ({ options: { bounds, covered }, day, period }: Tally, at: number): number => {
  const [begin, end] = covered[period] ?? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  return Math.min(bounds[day + 1]!, begin > at ? begin : end);
};

/** Adds due times after now. Unless decisions are recorded ahead, it does not examine each of them. */
const addAll = (tally: Tally, times: readonly number[]): void => {
  const { decided } = tally.options;
  for (let index = 0; index < times.length; ) {
    const at = times[index]!;
    moveTo(tally, at);
    let end = index + 1;
    if (decided.size === 0) {
      const until = sameUntil(tally, at);
      end = times.at(-1)! < until ? times.length : times.findIndex((one) => one >= until);
    }
    if (!decided.has(at)) count(tally, plannedAt(tally, at), times, [index, end]);
    index = end;
  }
};

/** Adds a due time up to now. `isNewest` is whether no later one is due already: it still fires if it is not too late. */
const addDue = (tally: Tally, at: number, isNewest: boolean): void => {
  const { job, options } = tally;
  const due = new Date(at).toISOString();
  const isMissed = !isNewest || isTooLate(due, nextOccurrence(job.recurrence, due), options.now);
  moveTo(tally, at);
  if (!options.decided.has(at)) count(tally, isMissed ? MISSED : plannedAt(tally, at), [at], [0, 1]);
};

/**
 * Counts the occurrences of a job for which no decision is recorded, by day and by the decision that would be made in the
 * present state. Yields often, because there can be thousands of occurrences.
 */
export function* predictedCounts(job: ScheduledJob, options: DayCountOptions): Generator<void, readonly OutcomeCount[]> {
  const now = Date.parse(options.now);
  const [from, to] = [Math.max(options.bounds[0]!, Date.parse(job.next_fire_at)), options.bounds.at(-1)!];
  const tally: Tally = { job, options, counts: new Map(), all: [], day: 0, period: 0 };
  let newestDue: number | null = null;
  for (const part of dueTimes(job.recurrence, from, to)) {
    let index = 0;
    for (; index < part.length && part[index]! <= now; index++) {
      if (newestDue !== null) addDue(tally, newestDue, false);
      newestDue = part[index]!;
    }
    if (index < part.length && newestDue !== null) {
      addDue(tally, newestDue, true);
      newestDue = null;
    }
    addAll(tally, index === 0 ? part : part.slice(index));
    yield;
  }
  if (newestDue !== null) addDue(tally, newestDue, true);
  moveTo(tally, to);
  return tally.all;
}
