import { type BlackoutFields, periodsFrom } from './blackout.ts';
import { isTooLate, occurrenceId } from './cron-run.ts';
import { type PresentBlackout, presentDecision } from './preview.ts';
import { nextOccurrence, type Recurrence } from './recurrence.ts';

/** A job with the first occurrence that has no recorded decision. `isInactive`: the job's agent, or the one that it calls, is inactive. */
export type PlannedJob = {
  readonly id: string;
  readonly agent_id: string;
  readonly recurrence: Recurrence;
  readonly next_fire_at: string;
  readonly isInactive: boolean;
};

/** An occurrence with the decision that would be made in the present state. */
export type PredictedOccurrence<Job extends PlannedJob = PlannedJob> = {
  readonly id: string;
  readonly job: Job;
  readonly due_at: string;
  readonly decision: 'fired' | 'suppressed' | 'missed';
  readonly reason: 'blackout' | 'agent_inactive' | null;
  readonly blackout_id: string | null;
};

/** `from` is inclusive, `to` exclusive. */
export type PredictionOptions = {
  readonly from: string;
  readonly to: string;
  readonly now: string;
  readonly blackouts: readonly PresentBlackout[];
};

/** Predictions are ordered by due time, then by id. */
export type OccurrenceKey = { readonly due_at: string; readonly id: string };

export const precedes = (one: OccurrenceKey, other: OccurrenceKey): boolean =>
  one.due_at === other.due_at ? one.id < other.id : one.due_at < other.due_at;

const DAY_MS = 86_400_000;

const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

/** Whether the blackout may cover the period, whatever its time zone is. */
const mayCover = (blackout: BlackoutFields, from: string, to: string): boolean =>
  periodsFrom(blackout, shifted(from, -DAY_MS).slice(0, 10), shifted(to, DAY_MS).slice(0, 10)).length > 0;

type Head<Job extends PlannedJob> = OccurrenceKey & { readonly job: Job };

const headAt = <Job extends PlannedJob>(job: Job, due_at: string | null, to: string): readonly Head<Job>[] =>
  due_at === null || due_at >= to ? [] : [{ job, due_at, id: occurrenceId(job.id, due_at) }];

const firstOf = (job: PlannedJob, from: string): string | null =>
  job.next_fire_at >= from ? job.next_fire_at : nextOccurrence(job.recurrence, shifted(from, -1));

const decisionOf = (
  { job, due_at }: Head<PlannedJob>,
  next: string | null,
  { now, blackouts }: PredictionOptions,
): Pick<PredictedOccurrence, 'decision' | 'reason' | 'blackout_id'> => {
  if (due_at <= now && isTooLate(due_at, next, now)) return { decision: 'missed', reason: null, blackout_id: null };
  return presentDecision(due_at, job, blackouts);
};

/** Yields the occurrences of all jobs without a recorded decision, earliest first. */
export function* predictedOccurrences<Job extends PlannedJob>(
  jobs: readonly Job[],
  options: PredictionOptions,
): Generator<PredictedOccurrence<Job>, void> {
  const { from, to } = options;
  const possible = { ...options, blackouts: options.blackouts.filter((blackout) => mayCover(blackout, from, to)) };
  let heads = jobs.flatMap((job) => headAt(job, firstOf(job, from), to));
  while (heads.length > 0) {
    const first = heads.reduce((earliest, head) => (precedes(head, earliest) ? head : earliest));
    const next = nextOccurrence(first.job.recurrence, first.due_at);
    yield { ...first, ...decisionOf(first, next, possible) };
    heads = heads.flatMap((head) => (head === first ? headAt(first.job, next, to) : [head]));
  }
}
