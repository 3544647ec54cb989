import { z } from 'zod';
import { TimeZone } from '../../commands/schedule/cron-job-fields.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { integer, Timestamp } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import { JOB_STATUSES } from '../../domain/schedule/cron-job.ts';
import { DECISIONS, occurrenceId, SUPPRESSION_REASONS } from '../../domain/schedule/cron-run.ts';
import { coveredPeriods, type OutcomeCount, predictedCounts } from '../../domain/schedule/day-counts.ts';
import { MAX_LISTED } from '../../domain/schedule/impact.ts';
import { instantOf, localTimeOf } from '../../domain/time-zone.ts';
import { type CursorKey, readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { blackoutsOf } from '../../projections/schedule/blackout.queries.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { MAX_OCCURRENCES, occurrencesDecidedAhead } from '../../projections/schedule/cron-occurrence.queries.ts';
import { jobsWithOccurrences, MAX_SUMMARY_JOBS, recordedCounts } from '../../projections/schedule/cron-summary.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';
import { listedAgents, plannedJob } from './cron-occurrences.ts';
import { inSlices } from './in-slices.ts';

const DEFAULT_DAYS = 7;
const MAX_DAYS = 62;

/** After this time, in milliseconds, no further job is counted: the page ends, and the next page continues. */
const MAX_MS = 2_000;

const [FIRST_DATE, LAST_DATE] = ['1000-01-01', '9998-12-31'];

const Day = z.iso
  .date('must be a date such as 2026-12-24')
  .refine((date) => FIRST_DATE <= date && date <= LAST_DATE, `must be from ${FIRST_DATE} to ${LAST_DATE}`);

const COUNTS = {
  due: z.int().meta({ description: 'How many occurrences there are', examples: [4] }),
  fired: z.int().meta({ description: 'How many have fired', examples: [1] }),
  planned: z.int().meta({ description: 'How many will probably fire: these decisions are not made yet', examples: [2] }),
  suppressed: z.int().meta({ description: 'How many are suppressed, or would be in the present state', examples: [1] }),
  suppressed_by_blackout: z.int().meta({ description: 'How many of these a blackout suppresses', examples: [1] }),
  missed: z.int().meta({ description: 'How many are missed, or are due for too long to fire', examples: [0] }),
  skipped: z.int().meta({ description: 'How many a person has skipped', examples: [0] }),
};

const SummaryDay = z.object({
  date: z.string().meta({ format: 'date', description: 'A day, in the given time zone', examples: ['2026-12-24'] }),
  ...COUNTS,
  first_due_at: Timestamp.meta({ description: 'When the first occurrence of the day is due' }),
  occurrences: z
    .array(
      z.object({
        due_at: Timestamp.meta({ description: 'When it is due' }),
        decision: z.enum(DECISIONS).meta({ description: 'Whether the job fired' }),
        reason: z
          .enum(SUPPRESSION_REASONS)
          .nullable()
          .meta({ description: 'Why it is suppressed', examples: [null] }),
        predicted: z.boolean().meta({ description: 'Whether the decision is not made yet', examples: [true] }),
      }),
    )
    .meta({ description: `The occurrences of the day, if there are at most ${MAX_LISTED}; otherwise none` }),
});

export const CronOccurrenceSummary = z
  .object({
    job_id: idOf('cron job'),
    job_name: z.string().meta({ description: 'The present name of the job', examples: ['Weekly report'] }),
    job_status: z.enum(JOB_STATUSES).meta({ description: 'The present status of the job; `archived`: it is deleted' }),
    agent_id: idOf('agent'),
    agent_name: z.string().meta({ description: 'The name of its agent', examples: ['Refund Assistant'] }),
    ...COUNTS,
    exact: z.boolean().meta({
      description: `Whether the counts are exact. They can be too high if more than ${MAX_OCCURRENCES} occurrences were skipped in advance`,
    }),
    days: z.array(SummaryDay).meta({ description: 'The days on which the job is due' }),
  })
  .meta({ id: 'CronOccurrenceSummary' });

type Summary = z.output<typeof CronOccurrenceSummary>;

const SummaryQuery = z.strictObject({
  first_day: Day.optional().meta({ description: 'The first day of the period; by default, today', examples: ['2026-12-01'] }),
  last_day: Day.optional().meta({
    description: `The last day of the period, which belongs to it; by default, the period has ${DEFAULT_DAYS} days`,
    examples: ['2026-12-31'],
  }),
  timezone: TimeZone.default('UTC').meta({ description: 'The time zone of the days', examples: ['Europe/Berlin'] }),
  agent_id: Id25.optional().meta({ description: 'Only jobs of this agent' }),
  job_id: Id25.optional().meta({ description: 'Only this job' }),
  decision: z.enum(DECISIONS).optional().meta({ description: 'Only occurrences with this decision' }),
  limit: Decimal(integer(1, 200).default(100)).meta({ description: 'How many jobs the page may have' }),
  cursor: z
    .string()
    .max(4_000)
    .optional()
    .meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
});

type Asked = z.output<typeof SummaryQuery>;

const daysAfter = (date: string, days: number): string => Temporal.PlainDate.from(date).add({ days }).toString();

/** The days of a summary, and their starts and the end of the last one in milliseconds since 1970. */
type Days = { readonly dates: readonly string[]; readonly bounds: readonly number[] };

/** @throws Refusal invalid if the period is empty or too long */
const daysOf = (now: string, { first_day, last_day, timezone }: Asked): Days => {
  const first = first_day ?? localTimeOf(now, timezone).slice(0, 10);
  const last = last_day ?? daysAfter(first, DEFAULT_DAYS - 1);
  if (last < first) throw invalid('/query/last_day', 'must not be before `first_day`');
  if (daysAfter(first, MAX_DAYS) <= last)
    throw invalid('/query/last_day', `must be at most ${MAX_DAYS - 1} days after the first`, 'too_long');
  const dates = [first];
  while (dates.at(-1)! < last) dates.push(daysAfter(dates.at(-1)!, 1));
  const bounds = [...dates, daysAfter(last, 1)].map((date) => Date.parse(instantOf(`${date}T00:00:00`, timezone)));
  return { dates, bounds };
};

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

type Wanted = Days &
  Pick<Asked, 'decision' | 'job_id' | 'limit'> & {
    readonly tenant_id: string;
    readonly agent_ids: readonly string[] | undefined;
    readonly endsAt: number;
  };

type Job = Awaited<ReturnType<typeof jobsWithOccurrences>>[number];

const readRecorded = async (ctx: Ctx, jobs: readonly Job[], { tenant_id, bounds, decision }: Wanted) => {
  const [from, to] = [textOf(bounds[0]!), textOf(bounds.at(-1)!)];
  const period = { tenant_id, from, to, job_ids: jobs.map(({ id }) => id) };
  return recordedCounts(ctx.reads, { ...period, decision, days: bounds.slice(0, -1).map(textOf) });
};

/** Returns the recorded counts of these jobs or, if they have too many occurrences, of the first ones of them. */
const recordedOf = async (
  ctx: Ctx,
  jobs: readonly Job[],
  wanted: Wanted,
): Promise<readonly [readonly Job[], readonly OutcomeCount[][]]> => {
  const rows = await readRecorded(ctx, jobs, wanted);
  if (rows === null && jobs.length > 1) return recordedOf(ctx, jobs.slice(0, Math.floor(jobs.length / 2)), wanted);
  const byJob = Map.groupBy(rows ?? [], ({ job_id }) => job_id!);
  const found = jobs.map(({ id }) => (byJob.get(id) ?? []).map((row) => ({ ...row, predicted: false }) as unknown as OutcomeCount));
  return [jobs, found];
};

/** Returns the times of occurrences that were decided ahead, by job. If they are not all, `isExact` is false. */
const readAhead = async (ctx: Ctx, jobs: readonly Job[], { tenant_id, bounds }: Wanted) => {
  const period = { tenant_id, from: textOf(bounds[0]!), to: textOf(bounds.at(-1)!), job_ids: jobs.map(({ id }) => id) };
  const rows = await occurrencesDecidedAhead(ctx.reads, period);
  const times = new Map<string, Set<number>>(jobs.map(({ id }) => [id, new Set()]));
  for (const { id, job_id, due_at } of rows) if (id === occurrenceId(job_id!, due_at!)) times.get(job_id!)?.add(Date.parse(due_at!));
  return { times, isExact: rows.length < MAX_OCCURRENCES };
};

/** Counts the occurrences of some jobs, in their order. Ends early if the time is over. */
const summariesOf = async (ctx: Ctx, given: readonly Job[], wanted: Wanted) => {
  const { dates, bounds, decision, endsAt } = wanted;
  const [jobs, recorded] = await recordedOf(ctx, given, wanted);
  const [present, ahead] = await Promise.all([blackoutsOf(ctx.reads, ctx.tenant), readAhead(ctx, jobs, wanted)]);
  const summaries: Summary[] = [];
  const coveredOf = new Map<string, ReturnType<typeof coveredPeriods>>();
  let counted = 0;
  for (const [index, job] of jobs.entries()) {
    if (counted > 0 && performance.now() > endsAt) break;
    counted++;
    const [planned] = job.status === 'active' && decision !== 'skipped' ? await plannedJob(ctx, job) : [];
    const agent_id = job.agent_id!;
    if (!coveredOf.has(agent_id)) coveredOf.set(agent_id, coveredPeriods(present, agent_id, bounds[0]!, bounds.at(-1)!));
    const options = { bounds, now: ctx.at(), covered: coveredOf.get(agent_id)!, decided: ahead.times.get(job.id)! };
    const predicted = planned ? await inSlices(predictedCounts(planned, options)) : [];
    const all = [...recorded[index]!, ...predicted.filter((one) => decision === undefined || one.decision === decision)];
    if (all.length === 0) continue;
    const { state } = await ctx.load(Agent, agent_id);
    const days = [...Map.groupBy(all, ({ day }) => day)].toSorted(([one], [other]) => one - other);
    summaries.push({
      ...{ job_id: job.id, job_name: job.name!, job_status: job.status as Summary['job_status'] },
      ...{ agent_id, agent_name: state.name, ...countsOf(all), exact: ahead.isExact },
      days: days.map(([day, found]) => summaryDay(dates[day]!, found)),
    });
  }
  return { summaries, last: counted < given.length || given.length === MAX_SUMMARY_JOBS ? jobs[counted - 1]! : null };
};

const cursorAfter = ({ name, id }: Job): CursorKey => [name!, id];

/** Returns a page of the jobs that have occurrences in the period, in the order of their names. */
const summaryPage = async (ctx: Ctx, wanted: Wanted, after: CursorKey | null) => {
  const { bounds, limit, tenant_id, agent_ids, job_id, decision } = wanted;
  const selected = { tenant_id, agent_ids, job_id, decision, from: textOf(bounds[0]!), to: textOf(bounds.at(-1)!) };
  const found: Summary[] = [];
  let start = after;
  do {
    const only_recorded = decision === 'skipped' ? ({ only_recorded: true } as const) : {};
    const jobs = await jobsWithOccurrences(ctx.reads, { ...selected, ...only_recorded }, start);
    if (jobs.length === 0) return { found, next: null };
    const { summaries, last } = await summariesOf(ctx, jobs, wanted);
    found.push(...summaries);
    start = last && cursorAfter(last);
  } while (start !== null && found.length <= limit && performance.now() < wanted.endsAt);
  const cut = found[limit - 1]!;
  return found.length > limit ? { found: found.slice(0, limit), next: [cut.job_name, cut.job_id] as const } : { found, next: start };
};

export const cronSummaryOperations = {
  summarizeCronOccurrences: operation({
    method: 'get',
    path: '/tenant/:tenant_id/cron-occurrences/summary',
    summary: 'Count the occurrences of cron jobs by day',
    details: `Counts the occurrences of each job by day and decision, for at most ${MAX_DAYS} days: the recorded ones, and those that follow from the present jobs, agents and blackouts. The jobs are in the order of their names; those without occurrences in the period are left out, and those of agents that the caller may not see. A page always has whole jobs. It ends early, and can be empty, after ${MAX_MS / 1_000} seconds; the next page continues.`,
    permit: 'tenant:read',
    query: SummaryQuery,
    reply: z.array(CronOccurrenceSummary),
    projection: cronJobs.name,
    otherProjections: [blackouts.name],
    noETag: true,
    run: async (ctx, { tenant_id, ...asked }) => {
      const days = daysOf(ctx.at(), asked);
      const { agent_id, job_id, decision, limit, cursor } = asked;
      const agent_ids = await listedAgents(ctx, agent_id);
      const wanted = { ...days, tenant_id, agent_ids, job_id, decision, limit, endsAt: performance.now() + MAX_MS };
      const { found, next } = await summaryPage(ctx, wanted, readCursorKey(cursor, 'text'));
      return { body: JSON.stringify(found), next: next && writeCursor(next) };
    },
  }),
};
