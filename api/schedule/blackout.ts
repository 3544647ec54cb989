import { z } from 'zod';
import {
  assertVisibleAgent,
  CronBlackoutCreate,
  CronBlackoutUpdate,
  changeBlackout,
  declareBlackout,
  liftBlackout,
} from '../../commands/schedule/blackout.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Blackout from '../../domain/schedule/blackout.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { suppressedBy } from '../../domain/schedule/preview.ts';
import {
  BLACKOUT_SORTS,
  blackoutAgentsOf,
  blackoutById,
  blackoutCount,
  blackoutPage,
  MAX_BLACKOUTS,
} from '../../projections/schedule/blackout.queries.ts';
import { blackouts, CronBlackoutRead } from '../../projections/schedule/blackout.ts';
import { activeJobsOf, MAX_PREVIEWED_JOBS } from '../../projections/schedule/cron-job.queries.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { seesAllAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf, withTotalCount } from '../http/paging.ts';

const BLACKOUTS = '/tenant/:tenant_id/cron-blackouts';
const BLACKOUT = `${BLACKOUTS}/:id`;
const permit = 'tenant:settings:write';
const MAX_SUPPRESSED_PER_JOB = 100;

export const SuppressedOccurrence = z
  .object({
    job_id: idOf('cron job'),
    agent_id: idOf('agent'),
    due_at: Timestamp.meta({ description: 'When the job would be due' }),
  })
  .meta({ id: 'SuppressedOccurrence' });

/**
 * Returns the first occurrences of each job that a blackout would suppress from now on. Jobs of agents that the caller
 * may not see are left out.
 * @throws Refusal invalid if the blackout is for an agent that the caller may not see
 */
const suppressedOccurrences = async (ctx: Ctx, blackout: z.output<typeof CronBlackoutCreate>) => {
  Blackout.assertOrdered(blackout);
  const { agent_id } = blackout;
  if (agent_id !== null) await assertVisibleAgent(ctx, agent_id);
  const jobs = await activeJobsOf(ctx.reads, ctx.tenant, agent_id === null ? undefined : [agent_id]);
  const found = await Promise.all(
    jobs.map(async ({ id }) => {
      const { state } = await ctx.load(CronJob, id);
      if (state.status !== 'active' || !(await ctx.may('agent:read', state.agent_id))) return [];
      const recurrence = CronJob.recurrenceOf(state, state.scheduled_at, ctx.checks.parseCron);
      const times = suppressedBy(blackout, recurrence, { after: ctx.at(), limit: MAX_SUPPRESSED_PER_JOB });
      return times.map((due_at) => ({ job_id: id, agent_id: state.agent_id, due_at }));
    }),
  );
  return found.flat().sort((a, b) => (a.due_at < b.due_at ? -1 : 1));
};

/**
 * Returns the ids of the agents that have blackouts and that the caller may see; undefined if the caller may see all
 * agents.
 */
const visibleAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> => {
  if (await seesAllAgents(ctx)) return undefined;
  const candidates = await blackoutAgentsOf(ctx.reads, ctx.tenant);
  const visible = await Promise.all(candidates.map((agent_id) => ctx.may('agent:read', agent_id)));
  return candidates.filter((_, n) => visible[n]);
};

/**
 * Returns whether the caller may see a blackout. A blackout for a single agent is visible only to callers who may see
 * the agent.
 */
const isVisible = async (ctx: Ctx, agent_id: string | null): Promise<boolean> =>
  agent_id === null || (await seesAllAgents(ctx)) || ctx.may('agent:read', agent_id);

export const blackoutOperations = {
  listCronBlackouts: operation({
    method: 'get',
    path: BLACKOUTS,
    summary: 'List the blackouts of the tenant',
    details: 'Without those for agents that the caller may not see.',
    permit: 'tenant:read',
    query: listQuery({}, BLACKOUT_SORTS),
    reply: z.array(CronBlackoutRead),
    projection: blackouts.name,
    run: async (ctx, window) => {
      const agent_ids = await visibleAgents(ctx);
      const page = blackoutPage(ctx.reads, { tenant_id: ctx.tenant, agent_ids }, windowOf(window, BLACKOUT_SORTS));
      return agent_ids ? page : withTotalCount({}, page, () => blackoutCount(ctx.reads, ctx.tenant));
    },
  }),
  declareCronBlackout: operation({
    method: 'post',
    path: BLACKOUTS,
    summary: 'Declare a blackout',
    details: 'On its days, cron jobs do not fire: each occurrence is recorded as suppressed.',
    permit,
    body: CronBlackoutCreate,
    reply: CronBlackoutRead,
    status: 201,
    location: BLACKOUT,
    run: (ctx, input) => declareBlackout(ctx, input, { max: MAX_BLACKOUTS, count: () => blackoutCount(ctx.reads, ctx.tenant) }),
  }),
  previewCronBlackout: operation({
    method: 'post',
    path: `${BLACKOUTS}/preview`,
    summary: 'Preview what a blackout would suppress',
    details: `Looks at the newest ${MAX_PREVIEWED_JOBS} active jobs, and at most ${MAX_SUPPRESSED_PER_JOB} occurrences of each. Declares nothing.`,
    permit: 'tenant:read',
    body: CronBlackoutCreate,
    reply: z.array(SuppressedOccurrence),
    readsOnly: true,
    projection: cronJobs.name,
    noETag: true,
    run: async (ctx, { tenant_id, ...blackout }) => ({
      id: tenant_id,
      revision: -1,
      position: null,
      state: await ctx.sideEffect(() => suppressedOccurrences(ctx, blackout)),
    }),
  }),
  getCronBlackout: operation({
    method: 'get',
    path: BLACKOUT,
    summary: 'Read a blackout',
    permit: 'tenant:read',
    query: asOfQuery,
    reply: CronBlackoutRead,
    projection: blackouts.name,
    run: async (ctx, { id }) => {
      if (ctx.asOf) {
        const loaded = await ctx.load(Blackout, id);
        return loaded.state.status === 'declared' && (await isVisible(ctx, loaded.state.agent_id)) ? loaded : null;
      }
      const found = await blackoutById(ctx.reads, ctx.tenant, id);
      return found && (await isVisible(ctx, (JSON.parse(found.doc) as { agent_id: string | null }).agent_id)) ? found : null;
    },
  }),
  changeCronBlackout: operation({
    method: 'patch',
    path: BLACKOUT,
    summary: 'Change a blackout',
    details: 'Absent fields stay unchanged; null clears or resets a field.',
    permit,
    body: CronBlackoutUpdate,
    reply: CronBlackoutRead,
    run: changeBlackout,
  }),
  liftCronBlackout: operation({
    method: 'delete',
    path: BLACKOUT,
    summary: 'Lift a blackout',
    permit,
    run: liftBlackout,
  }),
};
