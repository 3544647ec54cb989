import * as Agent from '../../domain/agents/agent.ts';
import { omit } from '../../domain/omit.ts';
import { occurrenceId } from '../../domain/schedule/cron-run.ts';
import { type Covered, coveredPeriods, type OutcomeCount, predictedCounts } from '../../domain/schedule/day-counts.ts';
import { MAX_LISTED } from '../../domain/schedule/impact.ts';
import type { PresentBlackout } from '../../domain/schedule/preview.ts';
import type { CursorKey } from '../../projections/cursor.ts';
import { blackoutsOf } from '../../projections/schedule/blackout.queries.ts';
import { MAX_OCCURRENCES } from '../../projections/schedule/cron-occurrence.queries.ts';
import { jobsWithOccurrences, MAX_COUNTED, MAX_SUMMARY_JOBS, recordedCounts } from '../../projections/schedule/cron-summary.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { plannedJob } from './cron-occurrences.ts';
import type { Summary } from './cron-summary-fields.ts';
import { inSlices } from './in-slices.ts';

/** The days of a summary, and their starts and the end of the last one in milliseconds since 1970. */
export type Days = { readonly dates: readonly string[]; readonly bounds: readonly number[] };

const textOf = (ms: number): string => new Date(ms).toISOString();

const NO_RUNS = { due: 0, fired: 0, planned: 0, suppressed: 0, suppressed_by_blackout: 0, missed: 0, skipped: 0 };
type Counts = Readonly<typeof NO_RUNS>;

const countsOf = (found: readonly OutcomeCount[]): Counts => {
  const counts = { ...NO_RUNS };
  for (const { decision, reason, predicted, runs } of found) {
    counts.due += runs;
    counts[decision === 'fired' && predicted ? 'planned' : decision] += runs;
    if (reason === 'blackout') counts.suppressed_by_blackout += runs;
  }
  return counts;
};

const summaryDay = (date: string, found: readonly OutcomeCount[]): Summary['days'][number] => {
  const counts = countsOf(found);
  const first = found
    .flatMap(({ first: times, decision, reason, predicted }) => times.map((at) => ({ at: Math.round(at), decision, reason, predicted })))
    .sort((one, other) => one.at - other.at);
  const listed = counts.due > MAX_LISTED ? [] : first;
  const occurrences = listed.map(({ at, ...occurrence }) => ({ due_at: textOf(at), ...occurrence }));
  return { date, ...counts, first_due_at: textOf(first[0]!.at), occurrences };
};

/**
 * What a page counts at most. `ms`: after this time in milliseconds, no further job is counted. `jobs`: how many are read
 * at once. `recorded`: occurrences that are read at once. `ahead`: those that were decided in advance, of each job.
 */
export type CountLimits = { readonly ms: number; readonly jobs: number; readonly recorded: number; readonly ahead: number };

export const COUNT_LIMITS: CountLimits = { ms: 2_000, jobs: MAX_SUMMARY_JOBS, recorded: MAX_COUNTED, ahead: MAX_OCCURRENCES };

type Wanted = Days & {
  readonly tenant_id: string;
  readonly agent_ids: readonly string[] | undefined;
  readonly job_id: string | undefined;
  readonly decision: Decision | undefined;
  /** How many jobs the page may have. */
  readonly limit: number;
};

type Decision = Summary['days'][number]['occurrences'][number]['decision'];
type Job = Awaited<ReturnType<typeof jobsWithOccurrences>>[number];
type Planned = Awaited<ReturnType<typeof plannedJob>>[number];

/** The state of a request. `batch` is how many jobs are read at once; it shrinks if they have too many occurrences. */
type Counting = {
  readonly ctx: Ctx;
  readonly wanted: Wanted;
  readonly limits: CountLimits;
  readonly endsAt: number;
  readonly coveredOf: Map<string, readonly Covered[]>;
  blackouts: readonly PresentBlackout[] | null;
  batch: number;
  /** Whether a job was counted. A page counts at least one. */
  hasCounted: boolean;
};

const isOver = ({ endsAt }: Counting): boolean => performance.now() >= endsAt;

const periodOf = ({ bounds }: Days) => ({ from: textOf(bounds[0]!), to: textOf(bounds.at(-1)!) });

/** Jobs that are due next at or after this time have only recorded occurrences with the decision. */
const plannedBefore = (ctx: Ctx, wanted: Wanted): string | undefined => {
  const { to } = periodOf(wanted);
  if (wanted.decision === 'skipped') return undefined;
  const afterNow = textOf(Date.parse(ctx.at()) + 1);
  return wanted.decision === 'missed' && afterNow < to ? afterNow : to;
};

const plannedOf = async ({ ctx, wanted }: Counting, job: Job): Promise<Planned | null> => {
  const before = plannedBefore(ctx, wanted);
  if (job.status !== 'active' || before === undefined) return null;
  const [planned] = await plannedJob(ctx, job);
  return planned && planned.next_fire_at < before ? planned : null;
};

/** A job with its next undecided occurrence, if it has any in the period. */
type Candidate = { readonly job: Job; readonly planned: Planned | null };

/** Returns the first jobs with their recorded counts; null if the time is over. */
const readRecorded = async (counting: Counting, queue: readonly Job[]) => {
  const { ctx, wanted, limits } = counting;
  if (isOver(counting)) counting.batch = 1;
  const all = await Promise.all(queue.slice(0, counting.batch).map(async (job) => ({ job, planned: await plannedOf(counting, job) })));
  const selected = { tenant_id: wanted.tenant_id, ...periodOf(wanted), days: wanted.bounds.slice(0, -1).map(textOf) };
  for (;;) {
    if (isOver(counting)) {
      if (counting.hasCounted) return null;
      counting.batch = 1;
    }
    const candidates = all.slice(0, counting.batch);
    const jobs = candidates.map(({ job, planned }) => ({ id: job.id, next_fire_at: planned?.next_fire_at ?? null }));
    const { rows, isComplete } = await recordedCounts(ctx.reads, selected, { jobs, recorded: limits.recorded, ahead: limits.ahead });
    if (isComplete || candidates.length === 1) return { candidates, rows, isComplete };
    counting.batch = Math.floor(candidates.length / 2);
  }
};

type Row = Awaited<ReturnType<typeof recordedCounts>>['rows'][number];

/** Returns the due times whose decisions are recorded already. Runs that a user started have other ids. */
const decidedIn = (job_id: string, rows: readonly Row[]): ReadonlySet<number> =>
  new Set(
    rows.flatMap(({ ahead_ids, ahead }) =>
      (ahead ?? []).map(Math.round).filter((at, index) => ahead_ids![index] === occurrenceId(job_id, textOf(at))),
    ),
  );

const coveredFor = async (counting: Counting, agent_id: string): Promise<readonly Covered[]> => {
  const { ctx, wanted, coveredOf } = counting;
  const known = coveredOf.get(agent_id);
  if (known) return known;
  counting.blackouts ??= await blackoutsOf(ctx.reads, ctx.tenant);
  const { bounds } = wanted;
  const covered = await inSlices(coveredPeriods(counting.blackouts, agent_id, bounds[0]!, bounds.at(-1)!));
  coveredOf.set(agent_id, covered);
  return covered;
};

const predictedOf = async (counting: Counting, planned: Planned, rows: readonly Row[]): Promise<readonly OutcomeCount[]> => {
  const { ctx, wanted } = counting;
  const covered = await coveredFor(counting, planned.agent_id);
  const options = { bounds: wanted.bounds, now: ctx.at(), covered, decided: decidedIn(planned.id, rows) };
  return inSlices(predictedCounts(planned, options));
};

/** Returns the summary of a job, in a list. The list is empty if the job has no occurrences with the decision. */
const summaryOf = async (
  counting: Counting,
  { job, planned }: Candidate,
  rows: readonly Row[],
  isComplete: boolean,
): Promise<Summary[]> => {
  const { ctx, wanted, limits } = counting;
  const predicted = planned ? await predictedOf(counting, planned, rows) : [];
  const recorded = rows.map((row) => ({ ...omit(row, 'ahead', 'ahead_ids', 'job_id'), predicted: false }) as unknown as OutcomeCount);
  const all = [...recorded, ...predicted].filter(({ decision }) => wanted.decision === undefined || decision === wanted.decision);
  if (all.length === 0) return [];
  const { state } = await ctx.load(Agent, job.agent_id!);
  const days = [...Map.groupBy(all, ({ day }) => day)].toSorted(([one], [other]) => one - other);
  const ahead = rows.reduce((sum, row) => sum + (row.ahead?.length ?? 0), 0);
  return [
    {
      ...{ job_id: job.id, job_name: job.name!, job_status: job.status as Summary['job_status'] },
      ...{ agent_id: job.agent_id!, agent_name: state.name, ...countsOf(all), exact: isComplete && ahead <= limits.ahead },
      days: days.map(([day, found]) => summaryDay(wanted.dates[day]!, found)),
    },
  ];
};

/** Counts the occurrences of the first jobs, in their order. Ends early if the time is over. */
const summariesOf = async (counting: Counting, queue: readonly Job[]) => {
  const read = await readRecorded(counting, queue);
  const summaries: Summary[] = [];
  let counted = 0;
  if (read === null) return { summaries, counted };
  const byJob = Map.groupBy(read.rows, ({ job_id }) => job_id!);
  for (const candidate of read.candidates) {
    if (counting.hasCounted && isOver(counting)) break;
    summaries.push(...(await summaryOf(counting, candidate, byJob.get(candidate.job.id) ?? [], read.isComplete)));
    counting.hasCounted = true;
    counted++;
  }
  return { summaries, counted };
};

/** Returns a page of the jobs that have occurrences in the period, in the order of their names. */
export const countPage = async (ctx: Ctx, wanted: Wanted, after: CursorKey | null, limits = COUNT_LIMITS) => {
  const { limit, tenant_id, agent_ids, job_id, decision } = wanted;
  const selected = { tenant_id, agent_ids, job_id, decision, ...periodOf(wanted), planned_before: plannedBefore(ctx, wanted) };
  const endsAt = performance.now() + limits.ms;
  const counting: Counting = { ctx, wanted, limits, endsAt, coveredOf: new Map(), blackouts: null, batch: limits.jobs, hasCounted: false };
  const found: Summary[] = [];
  let next = after;
  for (let queue: readonly Job[] = [], isLast = false; ; ) {
    if (queue.length === 0) {
      queue = isLast ? [] : await jobsWithOccurrences(ctx.reads, selected, next);
      isLast = queue.length < MAX_SUMMARY_JOBS;
    }
    if (queue.length === 0) return { found, next: null };
    const { summaries, counted } = await summariesOf(counting, queue);
    found.push(...summaries);
    const last = queue[counted - 1];
    if (last) next = [last.name!, last.id];
    queue = queue.slice(counted);
    if (found.length > limit) break;
    if (queue.length === 0 && isLast) return { found, next: null };
    if (isOver(counting)) return { found, next };
  }
  const cut = found[limit - 1]!;
  return { found: found.slice(0, limit), next: [cut.job_name, cut.job_id] as const };
};
