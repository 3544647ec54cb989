import { z } from 'zod';
import { ReleaseReason } from '../../commands/deliveries/release.ts';
import { cancelReplay, type ReplayFilter, ReplayRequest, requestReplay } from '../../commands/deliveries/replay-deliveries.ts';
import { type FindDeliveries, requestTenantReplay } from '../../commands/deliveries/replay-tenant-deliveries.ts';
import { cancelMemoryImport, newImportJob } from '../../commands/memory/import-memory.ts';
import { MAX_BATCH } from '../../domain/deliveries/replay-job.ts';
import { integer } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { invalid } from '../../domain/refusal.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import {
  JOB_SORTS,
  jobById,
  jobPage,
  knownDeliveries,
  replayableIds,
  replayableOfTenantIds,
} from '../../projections/deliveries/replay-job.queries.ts';
import { JOB_KINDS, JOB_STATES, Job, JobListItem, RequestedJob, replays } from '../../projections/deliveries/replay-job.ts';
import { importJob } from '../../projections/memory/memory-import.queries.ts';
import { memoryImports } from '../../projections/memory/memory-import.ts';
import { agentsWithPermission, assignableAgents, readableAgents } from '../agents/readable-agents.ts';
import { type Ctx, type LoadedPage, operation, type Read } from '../http/operation.ts';
import { listQuery, parseSort } from '../http/paging.ts';
import { TenantFilter } from './delivery-list.ts';
import type { DeliveryStates } from './delivery-states.ts';

const JOBS = '/tenant/:tenant_id/jobs';
const JOB = `${JOBS}/:id`;

/** Held deliveries are missing, because they continue by themselves. */
const REPLAYED_STATUSES = ['waiting', 'queued', 'running', 'done', 'dead'] as const;

/** Deliveries that have not ended cannot be selected by their state: they continue by themselves. */
const SentAgainFilter = omit(TenantFilter, 'state');

const TenantReplayRequest = z
  .strictObject({
    target_agent_id: Id25.optional().meta({
      description: 'The agent that gets the deliveries; absent: the agent that got each of them first',
    }),
    per_second: integer(1, MAX_BATCH).optional().meta({ description: 'At most how many deliveries are sent per second; absent: no limit' }),
    ...SentAgainFilter,
    status: z.enum(REPLAYED_STATUSES).optional().meta({ description: 'Only deliveries with this status' }),
    outcome: z.enum(['accepted', 'dead', 'blocked']).optional().meta({
      description:
        'Only deliveries with this outcome; absent: `accepted` and `dead`. Those that are `blocked` are released, which needs `release_reason`',
    }),
    release_reason: ReleaseReason.optional().meta({
      description: 'Why the blocked deliveries are released; the audit log shows it. Only with the outcome `blocked`',
      examples: ['The rule was wrong'],
    }),
    dry_run: z.boolean().default(false).meta({ description: 'Only count the deliveries: nothing is recorded or sent' }),
  })
  .meta({ id: 'TenantReplayRequest', examples: [{ outcome: 'dead', reason: 'max_deliveries', per_second: 10 }] });

/** Waits until the read model of deliveries has all events that are in the log now. @throws Refusal not_caught_up */
const catchUp = async (ctx: Ctx): Promise<void> => {
  const end = await ctx.log.logEnd();
  if (end) await ctx.reads.passed(deliveries.name, end);
};

/**
 * Finds deliveries to send again among those that the caller may read. Without a target, blocked ones must be for agents
 * to which the caller may assign work.
 */
const findDeliveries =
  (ctx: Ctx, states: DeliveryStates, hasTarget: boolean): FindDeliveries =>
  async (criteria, limit) => {
    await catchUp(ctx);
    const agent_ids = criteria.outcome === 'blocked' && !hasTarget ? await assignableAgents(ctx) : await readableAgents(ctx);
    const queues = await states.queuesFor(ctx, { ...criteria, agent_ids });
    return replayableOfTenantIds(ctx.reads, { ...criteria, tenant_id: ctx.tenant, agent_ids, queues }, limit);
  };

/** Checks that the integration of the request has received all deliveries in `ids`. @throws Refusal invalid */
const assertKnown = async (ctx: Ctx, { integration_id, ids }: ReplayFilter): Promise<void> => {
  if (!ids) return;
  const known = await knownDeliveries(ctx.reads, { tenant_id: ctx.tenant, integration_id, ids });
  const unknown = ids.findIndex((id) => !known.has(id));
  if (unknown >= 0) throw invalid(`/ids/${unknown}`, 'there is no such delivery to this integration', 'unknown_delivery');
};

/**
 * Finds a job. It is an import into an agent's memory, which callers who may read the agent may see, or a replay, for
 * which the caller needs `tenant:integrations:read`.
 * @throws Refusal forbidden
 */
const findJob = async (ctx: Ctx, { id }: { readonly id: string }): Promise<Read | LoadedPage> => {
  const found = (await importJob(ctx.reads, ctx.tenant, id)) ?? (await newImportJob(ctx, id));
  if (!found || !(await ctx.may('agent:read', found.agent_id))) await ctx.require('tenant:integrations:read');
  return found?.job ?? jobById(ctx.reads, ctx.tenant, id);
};

export const replayOperationsOf = (states: DeliveryStates) => ({
  replayDeliveries: operation({
    method: 'post',
    path: '/tenant/:tenant_id/webhook-integrations/:id/replay',
    summary: 'Send many deliveries to runners again',
    details:
      'A job sends each of the selected deliveries once, as a new message. They are those that were received when the job is requested, at most 5,000. Blocked and rejected deliveries are left out: `POST …/deliveries/replay` can release blocked ones.',
    permit: 'tenant:integrations:write',
    body: ReplayRequest,
    reply: RequestedJob,
    status: 202,
    projection: deliveries.name,
    noETag: true,
    run: (ctx, input) =>
      requestReplay(ctx, input, async (filter) => {
        await catchUp(ctx);
        await assertKnown(ctx, filter);
        return replayableIds(ctx.reads, { ...filter, tenant_id: ctx.tenant });
      }),
  }),
  replayTenantDeliveries: operation({
    method: 'post',
    path: '/tenant/:tenant_id/deliveries/replay',
    summary: 'Replay matching deliveries',
    details:
      'A job sends each delivery that matches all filters to a runner again, once, as a new message. They are those that were received when the job is requested, at most 5,000. With the outcome `blocked`, it releases blocked deliveries instead, as `POST …/deliveries/{delivery_id}/release` does. Rejected deliveries are left out, because no body was stored.',
    permit: 'tenant:integrations:write',
    permissionNote:
      'Requires the permission `tenant:integrations:write`; to release blocked deliveries also `agent:assign` on the agents that get them.',
    body: TenantReplayRequest,
    reply: RequestedJob,
    status: 202,
    projection: deliveries.name,
    noETag: true,
    run: (ctx, input) => requestTenantReplay(ctx, input, findDeliveries(ctx, states, input.target_agent_id !== undefined)),
  }),
  listJobs: operation({
    method: 'get',
    path: JOBS,
    summary: 'List the jobs of the tenant',
    details:
      'The newest first. A caller without the permission `tenant:integrations:read` sees only imports into the memories of agents that they may read.',
    permit: 'tenant:read',
    query: listQuery(
      {
        kind: z.enum(JOB_KINDS).optional().meta({ description: 'Only jobs of this kind' }),
        status: z.enum(JOB_STATES).optional().meta({ description: 'Only jobs with this status' }),
      },
      JOB_SORTS,
    ),
    reply: z.array(JobListItem),
    projection: replays.name,
    run: async (ctx, { kind, status, sort, limit, cursor }) => {
      const agent_ids = (await ctx.may('tenant:integrations:read')) ? undefined : await agentsWithPermission(ctx, 'agent:read');
      return jobPage(
        ctx.reads,
        { tenant_id: ctx.tenant, kind, status, agent_ids },
        { sort: parseSort(sort ?? '-created_at', JOB_SORTS), limit, cursor },
      );
    },
  }),
  getJob: operation({
    method: 'get',
    path: JOB,
    summary: 'Read how far a job is',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:integrations:read`, or, for an import into the memory of an agent, `agent:read` on it.',
    reply: Job,
    projection: replays.name,
    otherProjections: [memoryImports.name],
    run: findJob,
  }),
  cancelJob: operation({
    method: 'post',
    path: `${JOB}/cancel`,
    summary: 'Cancel a job',
    details:
      'It takes effect after the present batch of at most 100 deliveries. What was sent before stays sent. An import into the memory of an agent ends without entries.',
    permit: 'tenant:integrations:write',
    reply: Job,
    run: async (ctx, { id }) => (await cancelMemoryImport(ctx, id)) ?? cancelReplay(ctx, { id }),
  }),
});
