import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { Instant, integer, Timestamp } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { DECISIONS } from '../../domain/schedule/cron-run.ts';
import {
  type OccurrenceKey,
  type PlannedJob,
  type PredictedOccurrence,
  precedes,
  predictedOccurrences,
} from '../../domain/schedule/prediction.ts';
import { type CursorKey, readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { blackoutsOf } from '../../projections/schedule/blackout.queries.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { activeJobsOf, MAX_PREVIEWED_JOBS } from '../../projections/schedule/cron-job.queries.ts';
import { CronDecision, cronJobs } from '../../projections/schedule/cron-job.ts';
import {
  decidedAheadOf,
  MAX_OCCURRENCES,
  recordedOccurrences,
  type SelectedOccurrences,
} from '../../projections/schedule/cron-occurrence.queries.ts';
import { visibleAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';

export { MAX_PREVIEWED_JOBS };

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
/** A month in which clocks go back is longer than 31 days. */
const MAX_DAYS = 32;
/** The maximum number of future occurrences that one call examines. After this number, the page ends. */
const MAX_EXAMINED = 2_000;

export const CronOccurrence = CronDecision.extend({
  created_at: Timestamp.nullable().meta({ description: 'When the decision was made; null if it is predicted' }),
  job_id: idOf('cron job'),
  job_name: z.string().meta({ description: 'The present name of the job', examples: ['Weekly report'] }),
  job_status: z.enum(CronJob.JOB_STATUSES).meta({ description: 'The present status of the job; `archived`: it is deleted' }),
  agent_id: idOf('agent'),
  predicted: z.boolean().meta({
    description: 'Whether the decision is not made yet. It is then what follows from the present jobs, agents and blackouts',
    examples: [false],
  }),
}).meta({ id: 'CronOccurrence' });

const OccurrenceQuery = z.strictObject({
  from: Instant.optional().meta({ description: 'Only occurrences that are due at or after this time; by default, now' }),
  to: Instant.optional().meta({
    description: `Only occurrences that are due before this time; by default, ${DEFAULT_DAYS} days after from`,
  }),
  agent_id: Id25.optional().meta({ description: 'Only jobs of this agent' }),
  decision: z.enum(DECISIONS).optional().meta({ description: 'Only occurrences with this decision' }),
  limit: Decimal(integer(1, MAX_OCCURRENCES).default(200)).meta({ description: 'How many items the page may have' }),
  cursor: z
    .string()
    .max(4_000)
    .optional()
    .meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
});

type Asked = z.output<typeof OccurrenceQuery>;

/** Returns the period that a query selects. @throws Refusal invalid if the period is empty or too long */
const periodOf = (now: string, { from = now, to }: Pick<Asked, 'from' | 'to'>): { readonly from: string; readonly to: string } => {
  const end = to ?? new Date(Date.parse(from) + DEFAULT_DAYS * DAY_MS).toISOString();
  if (from >= end) throw invalid('/query/to', 'must be after `from`');
  if (Date.parse(end) - Date.parse(from) > MAX_DAYS * DAY_MS)
    throw invalid('/query/to', `must be at most ${MAX_DAYS} days after the start`, 'too_long');
  return { from, to: end };
};

/** Returns the ids of the agents whose jobs are listed; undefined if the jobs of all agents are listed. */
export const listedAgents = async (ctx: Ctx, agent_id: string | undefined): Promise<readonly string[] | undefined> => {
  const visible = await visibleAgents(ctx);
  if (agent_id === undefined) return visible;
  return visible === undefined || visible.includes(agent_id) ? [agent_id] : [];
};

/** Returns whether the agent of a job, or the one that it calls, is inactive or deleted. */
export const isInactive = async (ctx: Ctx, job: CronJob.CronJob): Promise<boolean> => {
  const target = job.target_kind === 'internal_agent' ? CronJob.targetAgentOf(job) : job.agent_id;
  const agents = await Promise.all([...new Set([job.agent_id, target])].map((id) => ctx.load(Agent, id)));
  return agents.some(({ state }) => state.status !== 'live' || !state.is_active);
};

type ActiveJob = Awaited<ReturnType<typeof activeJobsOf>>[number];

/**
 * Returns a job with its next undecided occurrence, in a list. The list is empty if the job has no further occurrence.
 */
export const plannedJob = async (ctx: Ctx, { id, name, next_fire_at, schedule_revision }: ActiveJob) => {
  const { state } = await ctx.load(CronJob, id);
  // If the revisions differ, the read model does not have the last change of the schedule yet.
  const next = state.schedule_revision === schedule_revision ? next_fire_at : state.next_fire_at;
  if (state.status !== 'active' || next === null) return [];
  const recurrence = CronJob.recurrenceOf(state, state.scheduled_at, ctx.checks.parseCron);
  const { agent_id, scheduled_at } = state;
  return [{ id, name: name!, agent_id, scheduled_at, recurrence, next_fire_at: next, isInactive: await isInactive(ctx, state) }];
};

const NOT_ATTEMPTED = { created_at: null, attempts: [], delivery_id: null, session_id: null, predicted: true } as const;

const textOf = ({ job, id, ...decision }: PredictedOccurrence<PlannedJob & { readonly name: string }>): string =>
  JSON.stringify({
    occurrence_id: id,
    ...decision,
    ...NOT_ATTEMPTED,
    job_id: job.id,
    job_name: job.name,
    job_status: 'active',
    agent_id: job.agent_id,
  });

/** Reads the newest active jobs, and which of their occurrences in a period are decided, with the present blackouts. */
export const readPlanned = async (
  ctx: Ctx,
  { agent_ids, due_before }: { readonly agent_ids: readonly string[] | undefined; readonly due_before?: string },
  period: { readonly from: string; readonly to: string },
) => {
  const [rows, blackouts] = await Promise.all([
    activeJobsOf(ctx.reads, ctx.tenant, agent_ids, due_before),
    blackoutsOf(ctx.reads, ctx.tenant),
  ]);
  const jobs = (await Promise.all(rows.map((row) => plannedJob(ctx, row)))).flat();
  // Decisions are read last, so that an occurrence that is decided in between does not count as planned.
  const decided = await decidedAheadOf(ctx.reads, { tenant_id: ctx.tenant, ...period }, jobs);
  return { jobs, blackouts, decided, isComplete: rows.length < MAX_PREVIEWED_JOBS && decided.size < MAX_OCCURRENCES };
};

type Keyed = { readonly key: OccurrenceKey; readonly text: string };
type Wanted = SelectedOccurrences & { readonly after: CursorKey | null; readonly limit: number };

const isAfter = (key: OccurrenceKey, after: CursorKey | null): boolean =>
  after === null || precedes({ due_at: after[0] as string, id: after[1] }, key);

/**
 * Returns the predicted occurrences after the cursor: at most `limit` and one more. `end` is set if MAX_EXAMINED
 * occurrences were examined. The page then ends at this occurrence, and the next page continues after it.
 */
const predicted = async (
  ctx: Ctx,
  { from, to, agent_ids, decision, after, limit }: Wanted,
): Promise<{ readonly items: readonly Keyed[]; readonly end: OccurrenceKey | null }> => {
  if (decision === 'skipped') return { items: [], end: null };
  const { jobs, decided, blackouts } = await readPlanned(ctx, { agent_ids, due_before: to }, { from, to });
  const start = after === null ? from : (after[0] as string);
  const items: Keyed[] = [];
  let examined = 0;
  for (const occurrence of predictedOccurrences(jobs, { from: start, to, now: ctx.at(), blackouts })) {
    const { id, due_at } = occurrence;
    const isListed = (decision === undefined || occurrence.decision === decision) && isAfter(occurrence, after) && !decided.has(id);
    if (isListed) items.push({ key: occurrence, text: textOf(occurrence) });
    if (items.length > limit) break;
    if (++examined === MAX_EXAMINED) return { items, end: { due_at, id } };
  }
  return { items, end: null };
};

const recorded = async (ctx: Ctx, { after, limit: _, ...selected }: Wanted): Promise<readonly Keyed[]> => {
  const rows = await recordedOccurrences(ctx.reads, selected, after);
  return rows.map(({ doc, id, due_at, job_id, agent_id, name, status }) => ({
    key: { id, due_at: due_at! },
    text: JSON.stringify({
      ...(JSON.parse(doc) as z.output<typeof CronDecision>),
      ...{ job_id, job_name: name, job_status: status, agent_id, predicted: false },
    }),
  }));
};

/** Returns a page of the occurrences of all jobs, both recorded and predicted ones. The earliest are first. */
const occurrencePage = async (ctx: Ctx, wanted: Wanted) => {
  // Recorded occurrences are read last, so that one that is decided in between is in both lists and not in neither.
  const { items: planned, end } = await predicted(ctx, wanted);
  const past = await recorded(ctx, wanted);
  const known = new Set(past.map(({ key }) => key.id));
  const all = [...past, ...planned.filter(({ key }) => !known.has(key.id))]
    .filter(({ key }) => end === null || !precedes(end, key))
    .sort((one, other) => (precedes(one.key, other.key) ? -1 : 1));
  const items = all.slice(0, wanted.limit);
  const last = all.length > wanted.limit ? items.at(-1)!.key : end;
  return { body: `[${items.map(({ text }) => text).join(',\n')}]`, next: last && writeCursor([last.due_at, last.id], null) };
};

export const cronOccurrenceOperations = {
  listCronOccurrences: operation({
    method: 'get',
    path: '/tenant/:tenant_id/cron-occurrences',
    summary: 'List the occurrences of all cron jobs',
    details: `The earliest first; at most ${MAX_DAYS} days. The past has the recorded decisions. The future is predicted for the newest ${MAX_PREVIEWED_JOBS} active jobs that are due next before the end of the period, with the present blackouts. Without jobs of agents that the caller may not see.`,
    permit: 'tenant:read',
    query: OccurrenceQuery,
    reply: z.array(CronOccurrence),
    projection: cronJobs.name,
    otherProjections: [blackouts.name],
    noETag: true,
    run: async (ctx, { tenant_id, agent_id, decision, limit, cursor, ...asked }) =>
      occurrencePage(ctx, {
        tenant_id,
        ...periodOf(ctx.at(), asked),
        agent_ids: await listedAgents(ctx, agent_id),
        decision,
        limit,
        after: readCursorKey(cursor, 'timestamptz', null),
      }),
  }),
};
