import { z } from 'zod';
import {
  AgentCreate,
  AgentModelChainUpdate,
  AgentUpdate,
  createAgent,
  deleteAgent,
  reorderModelChain,
  updateAgent,
} from '../commands/agent.ts';
import type { Ctx } from '../commands/context.ts';
import { AGENT_KINDS } from '../domain/agent.ts';
import { AGENT_ROLES } from '../domain/grid.ts';
import * as Tenant from '../domain/tenant.ts';
import { agentById, agentCount, agentPage, type Sight } from '../projections/agent.queries.ts';
import { AgentListRead, AgentModelRead, AgentModels, AgentRead } from '../projections/agent.ts';
import { operation } from './operation.ts';
import { Flag, listQuery, windowOf } from './paging.ts';

const AGENTS = '/tenant/:tenant_id/agents';
const AGENT = `${AGENTS}/:agent_id`;
const query = listQuery({ q: z.string().min(1).max(255).optional(), is_active: Flag.optional(), kind: z.enum(AGENT_KINDS).optional() });

/** OWNER, ADMIN and AUDITOR see every agent of the tenant; others those on which they hold the label View. */
const sightOf = async (ctx: Ctx): Promise<Sight> => {
  if ((await ctx.may('tenant:settings:write')) || (await ctx.may('tenant:audit:read'))) return { all: true };
  const { state } = await ctx.load(Tenant, ctx.tenant);
  const user_id = ctx.principal.kind === 'user' ? ctx.principal.user_id : '';
  const roles = AGENT_ROLES.filter((role) => state.grid[role].includes('View'));
  return { all: false, user_id, roles, since: state.members[user_id]?.created_at ?? ctx.at };
};

export const agentOperations = {
  createAgent: operation({
    method: 'post',
    path: AGENTS,
    summary: 'Create an agent; its creator becomes its owner',
    permit: 'tenant:agents:create',
    body: AgentCreate,
    reply: AgentRead,
    status: 201,
    location: `${AGENTS}/:id`,
    run: createAgent,
  }),
  listAgents: operation({
    method: 'get',
    path: AGENTS,
    summary: 'List the agents that the caller sees',
    permit: 'tenant:read',
    query,
    reply: z.array(AgentListRead),
    reads: 'agents',
    run: async (ctx, { q, is_active, kind, ...window }) => {
      const sight = await sightOf(ctx);
      const filtered = q !== undefined || is_active !== undefined || kind !== undefined;
      const [page, total] = await Promise.all([
        agentPage(ctx.reads, ctx.tenant, sight, { q, is_active, kind }, windowOf(window, ['created_at', 'updated_at', 'name'])),
        sight.all && !filtered ? agentCount(ctx.reads, ctx.tenant) : undefined,
      ]);
      return { ...page, total };
    },
  }),
  getAgent: operation({
    method: 'get',
    path: AGENT,
    summary: 'Read an agent',
    permit: { all: ['agent:read'], runner: true },
    reply: AgentRead,
    reads: 'agents',
    run: (ctx, { agent_id }) => agentById(ctx.reads, ctx.tenant, agent_id),
  }),
  updateAgent: operation({
    method: 'patch',
    path: AGENT,
    summary: 'Change an agent; absent fields stay, null clears or resets',
    permit: 'agent:settings:write',
    body: AgentUpdate,
    reply: AgentRead,
    run: updateAgent,
  }),
  deleteAgent: operation({
    method: 'delete',
    path: AGENT,
    summary: 'Delete an agent',
    permit: 'agent:delete',
    run: deleteAgent,
  }),
  listAgentModels: operation({
    method: 'get',
    path: `${AGENT}/models`,
    summary: "Read an agent's model chain, the primary first",
    permit: 'agent:read',
    reply: z.array(AgentModelRead),
    reads: 'agents',
    run: (ctx, { agent_id }) => agentById(ctx.reads, ctx.tenant, agent_id, 'models_doc'),
  }),
  reorderModelChain: operation({
    method: 'put',
    path: `${AGENT}/models`,
    summary: "Replace an agent's model chain",
    permit: 'agent:settings:write',
    body: AgentModelChainUpdate,
    reply: AgentModels,
    run: reorderModelChain,
  }),
};
