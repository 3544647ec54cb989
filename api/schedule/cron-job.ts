import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import type { Loaded } from '../../commands/context.ts';
import {
  createCronJob,
  deleteCronJob,
  loadCronJob,
  pauseCronJob,
  resumeCronJob,
  runCronJobNow,
  skipCronOccurrence,
  updateCronJob,
} from '../../commands/schedule/cron-job.ts';
import { CronJobCreate, CronJobUpdate } from '../../commands/schedule/cron-job-fields.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import {
  CRON_JOB_SORTS,
  CRON_RUN_SORTS,
  cronJobById,
  cronJobCount,
  cronJobPage,
  cronJobRow,
  cronRunPage,
  type JobRow,
  lastDecisionUntil,
} from '../../projections/schedule/cron-job.queries.ts';
import { CronDecision, CronJobRead, cronJobs } from '../../projections/schedule/cron-job.ts';
import { planLimit } from '../billing/plan-limit.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf } from '../http/paging.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';

export const CRON_JOBS = '/tenant/:tenant_id/agents/:agent_id/cron-jobs';
const CRON_JOB = `${CRON_JOBS}/:id`;

const withinJobLimit = planLimit({ limit: 'cron_jobs', projection: cronJobs.name, countOf: cronJobCount });

type JobView = Omit<CronJob.CronJob, 'status'> & Pick<JobRow, 'status' | 'last_fired_at' | 'last_status_code'>;

/**
 * Returns a job as its own stream describes it. The data about its runs are missing, because they are not in this
 * stream.
 */
const viewOf = (job: CronJob.CronJob): JobView => ({
  ...job,
  status: job.status === 'absent' ? 'archived' : job.status,
  last_fired_at: null,
  last_status_code: null,
});

/** Returns the data about the runs of a job. Null if the read model is unavailable, or does not contain the job. */
const runsOf = async (ctx: Ctx, id: string): Promise<JobRow | null> =>
  (await cronJobRow(ctx.reads, ctx.tenant, id).catch(ignoreUnavailable)) ?? null;

/**
 * Adds the data about its runs to a job that was just changed. Its next due time and its status come from the last run
 * only if the schedule has not changed since that run.
 */
const withRuns = async (ctx: Ctx, { state, ...loaded }: Loaded<CronJob.CronJob>): Promise<Loaded<JobView>> => {
  const view = viewOf(state);
  const row = await ctx.sideEffect(() => runsOf(ctx, loaded.id));
  if (!row) return { ...loaded, state: view };
  const { last_fired_at, last_status_code, next_fire_at, status } = row;
  const isSame = row.schedule_revision === state.schedule_revision;
  return { ...loaded, state: { ...view, last_fired_at, last_status_code, ...(isSame && { next_fire_at, status }) } };
};

/**
 * Returns a job as of the context's log position; null if it did not exist. The status code of its last call is null,
 * because past values are not stored.
 */
const jobAsOf = async (ctx: Ctx, ref: { agent_id: string; id: string }): Promise<Loaded<JobView> | null> => {
  const { state, ...loaded } = await ctx.load(CronJob, ref.id);
  if (!CronJob.exists(state, ref.agent_id)) return null;
  const last = await lastDecisionUntil(ctx.reads, { tenant_id: ctx.tenant, job_id: ref.id }, ctx.asOf!);
  const isPlanned = last?.schedule_revision === state.schedule_revision;
  return { ...loaded, state: { ...viewOf(state), ...(isPlanned && { next_fire_at: last?.next_fire_at ?? null }) } };
};

const permit = 'agent:settings:write';

export const cronJobOperations = {
  listCronJobs: operation({
    method: 'get',
    path: CRON_JOBS,
    summary: "List an agent's cron jobs",
    permit: 'agent:read',
    query: listQuery({}, CRON_JOB_SORTS),
    reply: z.array(CronJobRead),
    projection: cronJobs.name,
    run: async (ctx, { tenant_id, agent_id, ...window }) => {
      await loadAgent(ctx, agent_id);
      return cronJobPage(ctx.reads, { tenant_id, agent_id }, windowOf(window, CRON_JOB_SORTS));
    },
  }),
  createCronJob: operation({
    method: 'post',
    path: CRON_JOBS,
    summary: 'Create a cron job',
    details:
      'A recurring job has either a cron expression, an interval, or `schedule_type` `daily` with `start_time`. A local time that clocks skip fires when they skip it; one that they show twice fires once. A cron expression whose hour is a wildcard, a step or a range keeps its rhythm in elapsed time instead, also through the repeated hour.',
    permit,
    permissionNote: 'Requires the permission `agent:settings:write`; to call another agent also `agent:assign` on it.',
    body: CronJobCreate,
    reply: CronJobRead,
    status: 201,
    location: `${CRON_JOBS}/:id`,
    run: (ctx, input) => withinJobLimit(ctx, (check) => createCronJob(ctx, input, check)),
  }),
  getCronJob: operation({
    method: 'get',
    path: CRON_JOB,
    summary: 'Read a cron job',
    permit: 'agent:read',
    query: asOfQuery,
    reply: CronJobRead,
    projection: cronJobs.name,
    noConditionalGet: true,
    run: async (ctx, ref) => {
      if (ctx.asOf) return jobAsOf(ctx, ref);
      const found = await cronJobById(ctx.reads, ctx.tenant, ref.id);
      return found && (JSON.parse(found.doc) as { agent_id: string }).agent_id === ref.agent_id ? found : null;
    },
  }),
  updateCronJob: operation({
    method: 'patch',
    path: CRON_JOB,
    summary: 'Change a cron job',
    details: 'Absent fields stay unchanged; null clears or resets a field.',
    permit,
    body: CronJobUpdate,
    reply: CronJobRead,
    run: async (ctx, input) => withRuns(ctx, await updateCronJob(ctx, input)),
  }),
  deleteCronJob: operation({
    method: 'delete',
    path: CRON_JOB,
    summary: 'Delete a cron job',
    permit,
    run: (ctx, input) => withinJobLimit(ctx, () => deleteCronJob(ctx, input)),
  }),
  pauseCronJob: operation({
    method: 'post',
    path: `${CRON_JOB}/pause`,
    summary: 'Pause a cron job',
    permit,
    reply: CronJobRead,
    run: async (ctx, input) => withRuns(ctx, await pauseCronJob(ctx, input)),
  }),
  resumeCronJob: operation({
    method: 'post',
    path: `${CRON_JOB}/resume`,
    summary: 'Resume a cron job',
    details: 'What was due in the meantime does not fire.',
    permit,
    reply: CronJobRead,
    run: async (ctx, input) => withRuns(ctx, await resumeCronJob(ctx, input)),
  }),
  runCronJobNow: operation({
    method: 'post',
    path: `${CRON_JOB}/run-now`,
    summary: 'Run a cron job now',
    details: 'Outside of its schedule, which stays as it is. Blackouts do not suppress this run.',
    permit,
    reply: CronJobRead,
    run: async (ctx, input) => withRuns(ctx, await runCronJobNow(ctx, input)),
  }),
  skipCronOccurrence: operation({
    method: 'post',
    path: `${CRON_JOB}/skip`,
    summary: 'Skip the next run of a cron job',
    details: 'A repeated call skips the next one.',
    permit,
    reply: CronJobRead,
    run: async (ctx, input) => {
      const { next_fire_at, ...skipped } = await skipCronOccurrence(ctx, input);
      const { state, ...loaded } = await withRuns(ctx, skipped);
      // The row of the read model may not show the skip yet.
      return { ...loaded, state: { ...state, next_fire_at, ...(next_fire_at === null && { status: 'completed' as const }) } };
    },
  }),
  listCronRuns: operation({
    method: 'get',
    path: `${CRON_JOB}/runs`,
    summary: 'List the runs of a cron job',
    details: 'A decision for every time at which the job was due, also where it did not fire, with the reason.',
    permit: 'agent:read',
    query: listQuery({}, CRON_RUN_SORTS),
    reply: z.array(CronDecision),
    projection: cronJobs.name,
    run: async (ctx, { tenant_id, agent_id, id, ...window }) => {
      await loadCronJob(ctx, { agent_id, id });
      return cronRunPage(ctx.reads, { tenant_id, job_id: id }, windowOf(window, CRON_RUN_SORTS));
    },
  }),
};
