import type { Agent, AgentRole } from './agent.ts';
import type { Principal } from './principal.ts';
import type { Tenant, TenantRole } from './tenant.ts';

export const AGENT_LABELS = {
  'agent:read': 'View',
  'agent:chat:read': 'Chat (read-only)',
  'agent:assign': 'Assign work',
  'agent:settings:write': 'Edit settings',
  'agent:skills:write': 'Edit skills',
  'agent:tools:write': 'Edit tools',
  'agent:ownership:transfer': 'Transfer ownership',
  'agent:delete': 'Delete agent',
  'agent:roles:write': 'Manage roles',
} as const;

export type AgentPermission = keyof typeof AGENT_LABELS;
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

const VIEWER = ['agent:read', 'agent:chat:read'] as const;
const MANAGER = [...VIEWER, 'agent:assign', 'agent:settings:write', 'agent:skills:write', 'agent:tools:write'] as const;
const OWNER = [...MANAGER, 'agent:ownership:transfer', 'agent:delete', 'agent:roles:write'] as const;

/** The default grid: what each agent role may do. */
export const AGENT_GRID: Readonly<Record<AgentRole, readonly AgentPermission[]>> = { VIEWER, MANAGER, OWNER };

const ADMIN_LACKS: readonly Permission[] = ['tenant:billing:write', 'tenant:close'];

/** What a tenant role gives in the tenant itself; agents apart. */
export const tenantRoleAllows = (role: TenantRole, permission: TenantPermission): boolean => {
  if (role === 'OWNER') return true;
  if (role === 'ADMIN') return !ADMIN_LACKS.includes(permission);
  if (permission === 'tenant:read') return true;
  return role === 'MEMBER' ? permission === 'tenant:agents:create' : permission === 'tenant:audit:read';
};

/** What a tenant role and the roles on the agent give together. */
export const agentAllows = (role: TenantRole, user_id: string, agent: Agent, permission: AgentPermission): boolean => {
  if (role === 'OWNER' || role === 'ADMIN') return true;
  if (role === 'AUDITOR' && permission === 'agent:read') return true;
  if (agent.is_admin_only) return false;
  const held = agent.roles[user_id];
  return held !== undefined && AGENT_GRID[held].includes(permission);
};

/** The role that a caller holds in a tenant at the moment; null: none. */
export const roleIn = (tenant: Tenant, principal: Principal): TenantRole | null =>
  principal.kind === 'user' ? (tenant.members[principal.user_id]?.role ?? null) : null;

export const isAgentPermission = (permission: Permission): permission is AgentPermission => permission.startsWith('agent:');
export const isTenantPermission = (permission: Permission): permission is TenantPermission => permission.startsWith('tenant:');
