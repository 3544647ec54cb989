import { AGENT_ROLES, type AgentLabel } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AgentVisibility } from '../../projections/agents/agent.queries.ts';
import type { Ctx } from '../http/operation.ts';

/** Whether the caller has the permission of a label on all agents of the tenant. */
const hasOnAll = async (ctx: Ctx, label: AgentLabel): Promise<boolean> =>
  (await ctx.may('tenant:settings:write')) || (label === 'View' && (await ctx.may('tenant:audit:read')));

/**
 * Returns on which agents of the tenant the caller has the permission of a label, by default to view them. OWNER and
 * ADMIN have it on all agents, AUDITOR may view all. Other members have it by their roles on agents.
 */
export const agentsWithLabel = async (ctx: Ctx, label: AgentLabel = 'View'): Promise<AgentVisibility> => {
  if (await hasOnAll(ctx, label)) return { all: true };
  const { principal } = ctx;
  const { state } = await ctx.load(Tenant, ctx.tenant);
  const user_id = principal.kind === 'user' ? principal.user_id : '';
  const isAuditor = principal.kind === 'user' && principal.max_role === 'AUDITOR';
  const roles = isAuditor ? [] : AGENT_ROLES.filter((role) => state.role_permissions[role].includes(label));
  return { all: false, user_id, roles, since: state.members[user_id]?.since ?? MAX_SORT_KEY };
};
