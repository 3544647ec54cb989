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
import { assertExists, type Tenant, type TenantEvent } from '../tenants/tenant.ts';
import { lesserRole, type TenantRole } from '../tenants/tenant-role.ts';

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

/** `none`: no credential; `any`: any valid credential; `platform`: a super-admin; otherwise the permission of that name. */
export type Permission = 'none' | 'any' | 'platform' | TenantPermission | AgentPermission;

/**
 * `all` requires every permission. With `runner: true`, the runner of the agent in the URL path may call, too; with `in tenant`, every
 * runner of the tenant in the path: the operation must then check that the resource belongs to the runner's agent. The agent must not be
 * deleted. `recentSignIn`: a browser must have signed in at the issuer within MAX_SIGN_IN_AGE_MS.
 */
export type Permit =
  | Permission
  | { readonly all: readonly Permission[]; readonly runner?: true | 'in tenant'; readonly recentSignIn?: true };

export const MAX_SIGN_IN_AGE_MS = 15 * 60_000;

const NOT_FOR_ADMIN: readonly Permission[] = ['tenant:billing:write', 'tenant:close'];

/** For permissions on the tenant only; see `agentAllows`. */
export const tenantRoleAllows = (role: TenantRole, permission: TenantPermission): boolean => {
  if (role === 'OWNER') return true;
  if (role === 'ADMIN') return !NOT_FOR_ADMIN.includes(permission);
  if (permission === 'tenant:read') return true;
  return role === 'MEMBER' ? permission === 'tenant:agents:create' : permission === 'tenant:audit:read';
};

/** The permission can come from the user's role in the tenant, role on the agent, or a grant. A user who is not a member has no permission. */
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

/** The caller's own role or, if lower, the role of the API key. Null if the caller is not a member. */
export const tenantRoleOf = (tenant: Tenant, principal: Principal): TenantRole | null => {
  const member = principal.kind === 'user' ? tenant.members[principal.user_id] : undefined;
  return member && principal.kind === 'user' ? lesserRole(member.role, principal.max_role ?? 'OWNER') : null;
};

/** The tenant with the user as its only member, limited to `role`: to compute what an API key with a lower role allows. */
export const withLimitedRole = (tenant: Tenant, user_id: string, role: TenantRole): Tenant => {
  const member = tenant.members[user_id];
  return !member || member.role === role ? tenant : { ...tenant, members: { [user_id]: { ...member, role } } };
};

/** A key with the role AUDITOR only reads agents, whatever roles its owner has. Other credentials allow every permission. */
export const keyAllows = (principal: Principal, permission: AgentPermission): boolean =>
  principal.kind !== 'user' || principal.max_role !== 'AUDITOR' || permission === 'agent:read';

export const isAgentPermission = (permission: Permission): permission is AgentPermission => permission.startsWith('agent:');
export const isTenantPermission = (permission: Permission): permission is TenantPermission => permission.startsWith('tenant:');

/** Roles that are not given keep their permissions. @throws Refusal not_found, invalid if OWNER would lose a permission */
export const changeRolePermissions =
  (roles: Partial<RolePermissions>) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    if (roles.OWNER && LABELS.some((label) => !roles.OWNER!.includes(label)))
      throw invalid('/roles/OWNER', 'must contain every label', 'owner_labels');
    const ordered = Object.fromEntries(
      Object.entries(roles).map(([role, labels]) => [role, LABELS.filter((label) => labels?.includes(label))]),
    );
    const changed = changedFields(tenant.role_permissions, ordered);
    return Object.keys(changed).length > 0 ? [{ type: 'AgentRolePermissionsChanged', data: { roles: changed } }] : [];
  };

/** `decided_by` is the event that gave or took away the permission; null if no event did. */
export type EffectivePermission = { id: AgentPermission; label: AgentLabel; allowed: boolean; decided_by: EventRef | null };

/** One entry for every label. Deciding events: a role in the tenant, a role or grant on the agent, the restriction to admins. */
export const effectivePermissions = (tenant: Tenant, user_id: string, agent: Agent): EffectivePermission[] => {
  const member = tenant.members[user_id];
  const role = effectiveRole(agent.roles, tenant.members, user_id);
  const grant = effectiveRole(agent.grants, tenant.members, user_id);
  const sources = [
    ...(role ? [{ labels: tenant.role_permissions[role.role], by: role.by }] : []),
    ...(grant ? [{ labels: tenant.role_permissions[ROLE_OF_GRANT[grant.role]], by: grant.by }] : []),
  ];
  const hasAll = member?.role === 'OWNER' || member?.role === 'ADMIN';
  return LABELS.map((label) => {
    const allowed = agentAllows(tenant, user_id, agent, PERMISSION_OF_LABEL[label]);
    const grantedBy =
      hasAll || (member?.role === 'AUDITOR' && label === 'View') ? member?.by : sources.find(({ labels }) => labels.includes(label))?.by;
    return {
      id: PERMISSION_OF_LABEL[label],
      label,
      allowed,
      decided_by: (allowed ? grantedBy : agent.is_admin_only ? agent.admin_only_by : null) ?? null,
    };
  });
};

/** A permission that the caller's API key does not allow is not allowed in the list. */
export const effectivePermissionsOf = (tenant: Tenant, principal: Principal & { kind: 'user' }, agent: Agent): EffectivePermission[] => {
  const role = tenantRoleOf(tenant, principal);
  const limited = role ? withLimitedRole(tenant, principal.user_id, role) : tenant;
  return effectivePermissions(limited, principal.user_id, agent).map((one) =>
    keyAllows(principal, one.id) ? one : { ...one, allowed: false, decided_by: null },
  );
};
