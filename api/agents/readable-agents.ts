import type { AgentPermission } from '../../domain/agents/role-permissions.ts';
import { AGENT_ROLES, LABELS, PERMISSION_OF_LABEL } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type AgentVisibility, adminOnlyAgents } from '../../projections/agents/agent.queries.ts';
import { agentsOpenTo } from '../../projections/agents/agent-access.queries.ts';
import type { Ctx } from '../http/operation.ts';

/**
 * Returns the roles on agents that include `permission`, and the time since which the caller has been a member. Roles
 * from before that time do not count.
 */
const rolesWith = async (ctx: Ctx, permission: AgentPermission) => {
  const { state } = await ctx.load(Tenant, ctx.tenant);
  const user_id = ctx.principal.kind === 'user' ? ctx.principal.user_id : '';
  const label = LABELS.find((one) => PERMISSION_OF_LABEL[one] === permission)!;
  const roles = AGENT_ROLES.filter((role) => state.role_permissions[role].includes(label));
  return { user_id, roles, since: state.members[user_id]?.since ?? MAX_SORT_KEY };
};

/** Returns whether the caller may see all agents of the tenant. OWNER, ADMIN and AUDITOR may. */
export const seesAllAgents = async (ctx: Ctx): Promise<boolean> =>
  (await ctx.may('tenant:settings:write')) || (await ctx.may('tenant:audit:read'));

/**
 * Returns which agents of the tenant the caller may see: all agents, or those on which the caller has a role with
 * `agent:read`.
 */
export const agentVisibility = async (ctx: Ctx): Promise<AgentVisibility> =>
  (await seesAllAgents(ctx)) ? { all: true } : { all: false, ...(await rolesWith(ctx, 'agent:read')) };

/**
 * Returns the ids of the agents on which a role or a grant gives the caller a permission. The caller's role in the
 * tenant does not count.
 */
export const agentsWithPermission = async (ctx: Ctx, permission: AgentPermission): Promise<readonly string[]> => {
  if (ctx.principal.kind !== 'user') return [];
  const candidates = await agentsOpenTo(ctx.reads, { tenant_id: ctx.tenant, ...(await rolesWith(ctx, permission)) });
  const readable = await Promise.all(candidates.map((agent_id) => ctx.may(permission, agent_id)));
  return candidates.filter((_, n) => readable[n]);
};

/** Returns the ids of the agents whose deliveries the caller may read; undefined for all agents of the tenant. */
export const readableAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> =>
  (await ctx.may('tenant:integrations:read')) ? undefined : agentsWithPermission(ctx, 'agent:chat:read');

/**
 * Returns the ids of the agents whose sessions and files the caller may read; undefined if the caller may read those of
 * all agents.
 */
export const agentsWithReadableChats = async (ctx: Ctx): Promise<readonly string[] | undefined> =>
  (await ctx.may('tenant:settings:write')) ? undefined : agentsWithPermission(ctx, 'agent:chat:read');

/** Returns the ids of the agents to which the caller may assign work; undefined if they are all agents. */
export const assignableAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> =>
  (await ctx.may('tenant:settings:write')) ? undefined : agentsWithPermission(ctx, 'agent:assign');

/** Returns the ids of the agents that the caller may see; undefined if the caller may see all agents. */
export const visibleAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> =>
  (await seesAllAgents(ctx)) ? undefined : agentsWithPermission(ctx, 'agent:read');

/** Returns the ids of the agents that are only for administrators if the caller is not one; otherwise no ids. */
export const hiddenAgents = async (ctx: Ctx): Promise<readonly string[]> =>
  (await seesAllAgents(ctx)) ? [] : adminOnlyAgents(ctx.reads, ctx.tenant);
