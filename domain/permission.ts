import { GRANTED } from './access.ts';
import type { Agent } from './agent.ts';
import { AGENT_LABELS, type AgentPermission } from './grid.ts';
import type { Principal } from './principal.ts';
import type { Member, Tenant, TenantRole } from './tenant.ts';

export type TenantPermission =
  | 'tenant:read'
  | 'tenant:agents:create'
  | 'tenant:audit:read'
  | 'tenant:billing:read'
  | 'tenant:billing:write'
  | 'tenant:close'
  | 'tenant:credentials:write'
  | 'tenant:integrations:read'
  | 'tenant:integrations:write'
  | 'tenant:keys:write'
  | 'tenant:marketplace:write'
  | 'tenant:members:write'
  | 'tenant:settings:write'
  | 'tenant:skills:write'
  | 'tenant:tools:write';

/** What an operation asks of its caller. `any`: any valid credential. `none`: open to everybody. */
export type Permission = 'none' | 'any' | 'platform' | TenantPermission | AgentPermission;

/** Who may call an operation: all of `all`, or the key of the agent in the path where `runner` stands. */
export type Permit = Permission | { readonly all: readonly Permission[]; readonly runner?: true };

const ADMIN_LACKS: readonly Permission[] = ['tenant:billing:write', 'tenant:close'];

/** What a tenant role gives in the tenant itself; agents apart. */
export const tenantRoleAllows = (role: TenantRole, permission: TenantPermission): boolean => {
  if (role === 'OWNER') return true;
  if (role === 'ADMIN') return !ADMIN_LACKS.includes(permission);
  if (permission === 'tenant:read') return true;
  return role === 'MEMBER' ? permission === 'tenant:agents:create' : permission === 'tenant:audit:read';
};

/** What was given before somebody became a member (again) counts no more. */
const since = <Role>(held: { role: Role; updated_at: string } | undefined, member: Member): Role | undefined =>
  held && held.updated_at >= member.created_at ? held.role : undefined;

/** Whether a member's tenant role, role on the agent and grant together allow it. */
export const agentAllows = (tenant: Tenant, user_id: string, agent: Agent, permission: AgentPermission): boolean => {
  const member = tenant.members[user_id];
  if (!member) return false;
  if (member.role === 'OWNER' || member.role === 'ADMIN') return true;
  if (member.role === 'AUDITOR' && permission === 'agent:read') return true;
  if (agent.is_admin_only) return false;
  const role = since(agent.roles[user_id], member);
  const grant = since(agent.grants[user_id], member);
  const labels = [...(role ? tenant.grid[role] : []), ...(grant ? tenant.grid[GRANTED[grant]] : [])];
  return labels.some((label) => AGENT_LABELS[label] === permission);
};

/** The role that a caller holds in a tenant at the moment; null: none. */
export const roleIn = (tenant: Tenant, principal: Principal): TenantRole | null =>
  principal.kind === 'user' ? (tenant.members[principal.user_id]?.role ?? null) : null;

export const isAgentPermission = (permission: Permission): permission is AgentPermission => permission.startsWith('agent:');
export const isTenantPermission = (permission: Permission): permission is TenantPermission => permission.startsWith('tenant:');
