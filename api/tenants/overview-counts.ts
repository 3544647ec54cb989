import { z } from 'zod';
import { agentCounts } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { countSessions } from '../../projections/sessions/session.queries.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { limitedAgents, MAX_BUDGETS } from '../../projections/tenants/attention.queries.ts';
import { countGivenUp, MAX_DEAD } from '../../projections/tenants/overview-figures.queries.ts';
import { agentVisibility, readableAgents, visibleAgents } from '../agents/readable-agents.ts';
import { spentBudgets } from '../deliveries/delivery-states.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { answerableAgents } from '../sessions/tenant-sessions.ts';
import { before } from './overview-figures.ts';

export { MAX_DEAD };

const DAY_MS = 86_400_000;

const count = (description: string, example: number) => z.int().meta({ description, examples: [example] });

const OverviewCounts = z
  .object({
    dead_deliveries: count(
      `How many deliveries were given up in the last 24 hours, at most ${MAX_DEAD}: then, there can be more. The newest 10,000 of the tenant are examined`,
      64,
    ),
    waiting_sessions: count('How many sessions wait for an answer or a decision of the caller', 2),
    stopped_agents: count(
      `How many agents are paused, or have spent their hourly budget. Budgets of at most ${MAX_BUDGETS} agents are read, so it can be too low for a tenant with more budgets`,
      1,
    ),
  })
  .meta({ id: 'OverviewCounts' });

/** Counts the deliveries that the caller may read. */
const deadDeliveries = async (ctx: Ctx): Promise<number> => {
  const agent_ids = await readableAgents(ctx);
  if (agent_ids?.length === 0) return 0;
  return countGivenUp(ctx.reads, { tenant_id: ctx.tenant, agent_ids, given_up_from: before(ctx.at(), DAY_MS) });
};

const waitingSessions = async (ctx: Ctx): Promise<number> => {
  const agent_ids = await answerableAgents(ctx);
  return agent_ids?.length === 0 ? 0 : countSessions(ctx.reads, ctx.tenant, { agent_ids, status: 'waiting' });
};

/** Returns those agents whose hourly budget is spent. */
const spentAgents = async (ctx: Ctx, agent_ids: readonly string[] | undefined): Promise<readonly string[]> => {
  const limited = await limitedAgents(ctx.reads, { tenant_id: ctx.tenant, agent_ids });
  const spent = await spentBudgets(
    ctx,
    limited.map(({ id }) => id),
  );
  return spent.map(({ agent_id }) => agent_id);
};

const stoppedAgents = async (ctx: Ctx): Promise<number> => {
  const [visibility, visible] = await Promise.all([agentVisibility(ctx), visibleAgents(ctx)]);
  const counts = (ids?: readonly string[]) => agentCounts(ctx.reads, ctx.tenant, { visibility, ids });
  const [all, spent] = await Promise.all([counts(), spentAgents(ctx, visible)]);
  // A paused agent whose budget is spent counts once.
  return spent.length === 0 ? all.paused : all.paused + (await counts(spent)).active;
};

export const overviewCountOperations = {
  readOverviewCounts: operation({
    method: 'get',
    path: '/tenant/:tenant_id/overview/counts',
    summary: 'Count what waits for the caller',
    details:
      'Counts the deliveries that were given up in the last 24 hours, the sessions that wait for the caller, and the agents that take no work because they are paused or have spent their hourly budget. The console shows these numbers beside its pages.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Counts the deliveries of the agents on which the caller has `agent:chat:read` (with `tenant:integrations:read`, all), sessions of agents to which the caller may assign work, and agents that the caller may see.',
    reply: OverviewCounts,
    projection: deliveries.name,
    otherProjections: [agents.name, sessions.name],
    noETag: true,
    run: async (ctx) => {
      const [dead_deliveries, waiting_sessions, stopped_agents] = await Promise.all([
        deadDeliveries(ctx),
        waitingSessions(ctx),
        stoppedAgents(ctx),
      ]);
      return { doc: JSON.stringify(OverviewCounts.parse({ dead_deliveries, waiting_sessions, stopped_agents })), revision: null };
    },
  }),
};
