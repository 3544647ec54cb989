import type { AgentPermission } from '../../domain/agents/role-permissions.ts';
import { AGENT_ROLES, LABELS, PERMISSION_OF_LABEL } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agentsOpenTo } from '../../projections/agents/agent.queries.ts';
import type { Ctx } from '../http/operation.ts';

/** Returns the agents on which the caller has a permission by a role or a grant, not by their role in the tenant. */
export const agentsWithPermission = async (ctx: Ctx, permission: AgentPermission): Promise<readonly string[]> => {
  if (ctx.principal.kind !== 'user') return [];
  const { user_id } = ctx.principal;
  const { state } = await ctx.load(Tenant, ctx.tenant);
  const label = LABELS.find((one) => PERMISSION_OF_LABEL[one] === permission)!;
  const roles = AGENT_ROLES.filter((role) => state.role_permissions[role].includes(label));
  const since = state.members[user_id]?.since ?? MAX_SORT_KEY;
  const candidates = await agentsOpenTo(ctx.reads, { tenant_id: ctx.tenant, user_id, roles, since });
  const readable = await Promise.all(candidates.map((agent_id) => ctx.may(permission, agent_id)));
  return candidates.filter((_, n) => readable[n]);
};
