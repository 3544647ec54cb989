import type { Agent } from '../agents/agent.ts';
import { effectiveRole } from '../agents/agent-roles.ts';
import {
  type AgentLabel,
  type AgentPermission,
  LABELS,
  PERMISSION_OF_LABEL,
  ROLE_OF_GRANT,
  type RolePermissions,
} from '../agents/role-permissions.ts';
import { changedFields } from '../aggregate.ts';
import type { EventRef } from '../event.ts';
import type { Principal } from '../principal.ts';
import { invalid } from '../refusal.ts';
import { assertExists, type Tenant, type TenantEvent, type TenantRole } from '../tenants/tenant.ts';

export const TENANT_PERMISSIONS = [
  'tenant:read',
  'tenant:agents:create',
  'tenant:audit:read',
  'tenant:billing:read',
  'tenant:billing:write',
  'tenant:close',
  'tenant:credentials:write',
  'tenant:integrations:read',
  'tenant:integrations:write',
  'tenant:keys:write',
  'tenant:marketplace:write',
  'tenant:members:write',
  'tenant:settings:write',
  'tenant:skills:write',
  'tenant:tools:write',
] as const;
export type TenantPermission = (typeof TENANT_PERMISSIONS)[number];

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

/** Whether a member's tenant role, role on the agent and grant together allow it. */
export const agentAllows = (tenant: Tenant, user_id: string, agent: Agent, permission: AgentPermission): boolean => {
  const member = tenant.members[user_id];
  if (!member) return false;
  if (member.role === 'OWNER' || member.role === 'ADMIN') return true;
  if (member.role === 'AUDITOR' && permission === 'agent:read') return true;
  if (agent.is_admin_only) return false;
  const role = effectiveRole(agent.roles, tenant.members, user_id)?.role;
  const grant = effectiveRole(agent.grants, tenant.members, user_id)?.role;
  const labels = [...(role ? tenant.role_permissions[role] : []), ...(grant ? tenant.role_permissions[ROLE_OF_GRANT[grant]] : [])];
  return labels.some((label) => PERMISSION_OF_LABEL[label] === permission);
};

/** The role that a caller holds in a tenant at the moment; null: none. */
export const tenantRoleOf = (tenant: Tenant, principal: Principal): TenantRole | null =>
  principal.kind === 'user' ? (tenant.members[principal.user_id]?.role ?? null) : null;

export const isAgentPermission = (permission: Permission): permission is AgentPermission => permission.startsWith('agent:');
export const isTenantPermission = (permission: Permission): permission is TenantPermission => permission.startsWith('tenant:');

/** Replaces the labels of the roles that are named. @throws Refusal invalid where OWNER would lose one */
export const changeRolePermissions =
  (roles: Partial<RolePermissions>) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    if (roles.OWNER && LABELS.some((label) => !roles.OWNER!.includes(label)))
      throw invalid('/roles/OWNER', "OWNER's labels can not shrink", 'owner_labels');
    const ordered = Object.fromEntries(
      Object.entries(roles).map(([role, labels]) => [role, LABELS.filter((label) => labels?.includes(label))]),
    );
    const news = changedFields(tenant.role_permissions, ordered);
    return Object.keys(news).length > 0 ? [{ type: 'AgentRolePermissionsChanged', data: { roles: news } }] : [];
  };

/** One label of a user on an agent, and the event that gives it; null where nothing does. */
export type EffectivePermission = { label: AgentLabel; allowed: boolean; decided_by: EventRef | null };

/** Every label, with what decided it: the tenant role, a role on the agent, a grant, or the agent being for admins only. */
export const effectivePermissions = (tenant: Tenant, user_id: string, agent: Agent): EffectivePermission[] => {
  const member = tenant.members[user_id];
  const role = effectiveRole(agent.roles, tenant.members, user_id);
  const grant = effectiveRole(agent.grants, tenant.members, user_id);
  const sources = [
    ...(role ? [{ labels: tenant.role_permissions[role.role], by: role.by }] : []),
    ...(grant ? [{ labels: tenant.role_permissions[ROLE_OF_GRANT[grant.role]], by: grant.by }] : []),
  ];
  const whole = member?.role === 'OWNER' || member?.role === 'ADMIN';
  return LABELS.map((label) => {
    const allowed = agentAllows(tenant, user_id, agent, PERMISSION_OF_LABEL[label]);
    const held =
      whole || (member?.role === 'AUDITOR' && label === 'View') ? member?.by : sources.find(({ labels }) => labels.includes(label))?.by;
    return { label, allowed, decided_by: (allowed ? held : agent.is_admin_only ? agent.admin_only_by : null) ?? null };
  });
};
