import type { z } from 'zod';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { namesOf } from '../../projections/tenants/attention.queries.ts';
import { hasAcknowledged } from '../../projections/tenants/overview-figures.queries.ts';
import { readableAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { ATTENTION_PROJECTIONS, findAttention, type Runners } from './attention.ts';
import type { Found } from './attention-deliveries.ts';
import { REUSED_SECONDS, readFigures } from './overview-figures.ts';
import { type Attention, MAX_ATTENTION, Overview } from './overview-schema.ts';

/** Adds the names of agents to those that have no name yet. */
const withNames = async ({ reads, tenant }: Ctx, found: readonly Found[]): Promise<Attention[]> => {
  const unnamed = found.flatMap(({ agent_id, subject }) => (subject.name === undefined && agent_id !== null ? [agent_id] : []));
  const names = await namesOf(reads, tenant, { agents: [...new Set(unnamed)], integrations: [] });
  return found.map((one) => ({ ...one, subject: { name: names.get(one.agent_id ?? '') ?? 'An agent', ...one.subject } }));
};

const readOverview = async (ctx: Ctx, runners: Runners): Promise<z.output<typeof Overview>> => {
  const [agent_ids, mayReadCosts] = await Promise.all([readableAgents(ctx), ctx.may('tenant:billing:read')]);
  const { figures, open } = await readFigures(ctx, { agent_ids, mayReadCosts });
  const [all, is_started] = await Promise.all([
    findAttention(ctx, runners, { agent_ids, open }),
    agent_ids?.length === 0 ? false : hasAcknowledged(ctx.reads, { tenant_id: ctx.tenant, agent_ids }),
  ]);
  const attention = await withNames(ctx, all.slice(0, MAX_ATTENTION));
  return { at: ctx.at(), figures, attention, attention_count: all.length, is_started };
};

/** Creates the operation that sums up a tenant. */
export const overviewOperationOf = (runners: Runners) => ({
  readOverview: operation({
    method: 'get',
    path: '/tenant/:tenant_id/overview',
    summary: 'Sum up the last 24 hours',
    details: `The figures of the last 24 hours, and what needs attention. The counts of accepted and given-up deliveries can be ${REUSED_SECONDS} seconds old. Budgets are read of at most 100 agents, and runners of the 20 agents with the longest queues. While the message broker does not answer, no runner counts as missing.`,
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Counts the deliveries of the agents on which the caller has `agent:chat:read`; with `tenant:integrations:read`, all. Costs require `tenant:billing:read`, and what is about integrations, API keys, cron jobs and approvals the permission to list them.',
    reply: Overview,
    projection: deliveries.name,
    otherProjections: ATTENTION_PROJECTIONS,
    noETag: true,
    run: async (ctx) => ({ doc: JSON.stringify(Overview.parse(await readOverview(ctx, runners))), revision: null }),
  }),
});
