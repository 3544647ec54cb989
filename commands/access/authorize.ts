import {
  agentAllows,
  isAgentPermission,
  isTenantPermission,
  keyAllows,
  MAX_SIGN_IN_AGE_MS,
  type Permission,
  type Permit,
  tenantRoleAllows,
  tenantRoleOf,
  withLimitedRole,
} from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader } from '../context.ts';

export type AuthorizerDeps = {
  readonly cache: Pick<AggregateReader, 'loadCached'>;
  readonly now: () => number;
};

/** From the URL path of the request; undefined if the path does not contain it. */
export type Scope = { readonly tenant_id?: string | undefined; readonly agent_id?: string | undefined };

/**
 * @returns 'guest' for a super-admin who reads in a tenant without being a member
 * @throws Refusal forbidden, tenant_suspended, recent_sign_in_required, not_found if the caller must not learn that tenant or agent exists
 */
export type Authorize = (principal: Principal, permit: Permit, scope: Scope) => Promise<'guest' | undefined>;

type User = Principal & { kind: 'user' };
type Runner = Principal & { kind: 'runner' };

/** A guest is a super-admin who reads without being a member; before, they must open the tenant and give a reason (break-glass access). */
const GUEST_PERMISSIONS: readonly Permission[] = [
  'tenant:read',
  'tenant:audit:read',
  'tenant:billing:read',
  'tenant:integrations:read',
  'agent:read',
  'agent:chat:read',
];

const forbidden = (permission: Permission) =>
  new Refusal('forbidden', `This needs the permission ${permission}`, { members: { permission } });

/** Only for browsers; other credentials always pass. @throws Refusal recent_sign_in_required */
const assertRecentSignIn = (principal: Principal, now: number): void => {
  if (principal.kind !== 'user' || principal.signed_in_at === undefined) return;
  if (Date.parse(principal.signed_in_at) + MAX_SIGN_IN_AGE_MS < now)
    throw new Refusal('recent_sign_in_required', 'This needs a sign-in of the last 15 minutes: sign in again at /auth/login?max_age=0');
};

/** @throws Refusal forbidden unless the caller is a super-admin whose credential is not bound to a tenant */
const authorizeOnPlatform = (principal: Principal): undefined => {
  if (principal.kind === 'user' && principal.super_admin && principal.bound_to === null) return undefined;
  throw forbidden('platform');
};

/** @throws Refusal forbidden for a runner in its own tenant; elsewhere not_found, so that it does not learn whether the tenant exists */
const refuseWithoutUser = (principal: Exclude<Principal, User>, permission: Permission, tenant_id: string | undefined): never => {
  throw principal.kind === 'runner' && principal.tenant_id === tenant_id ? forbidden(permission) : notFound();
};

/** @throws Refusal not_found if the caller is not a super-admin, forbidden if the tenant is not open now or the permission is not a read */
const authorizeGuest = (tenant: Tenant.Tenant, principal: User, permission: Permission, now: () => number): 'guest' => {
  if (!principal.super_admin) throw notFound();
  const open = tenant.allow_superadmin_access && (tenant.super_admin_access[principal.user_id] ?? '') > new Date(now()).toISOString();
  if (!open) throw new Refusal('forbidden', 'Request access with a reason first: POST /admin/tenants/{tenant_id}/break-glass');
  if (!GUEST_PERMISSIONS.includes(permission)) throw forbidden(permission);
  return 'guest';
};

/** @throws Refusal not_found if the member may not see the agent, forbidden if they may see it but do not have the permission */
const checkAgentPermission = (tenant: Tenant.Tenant, principal: User, agent: Agent.Agent, permission: Permission): void => {
  // A deleted agent exists only for the permission agent:delete, which restoring needs.
  const isReachable = agent.status === 'live' || (agent.status === 'deleted' && permission === 'agent:delete');
  if (!isReachable || !agentAllows(tenant, principal.user_id, agent, 'agent:read')) throw notFound();
  if (!isAgentPermission(permission) || !keyAllows(principal, permission)) throw forbidden(permission);
  if (!agentAllows(tenant, principal.user_id, agent, permission)) throw forbidden(permission);
};

export const createAuthorizer = ({ cache, now }: AuthorizerDeps): Authorize => {
  const loadTenant = async (tenant_id: string): Promise<Tenant.Tenant> => {
    const { state: tenant } = await cache.loadCached(Tenant, tenant_id, tenant_id);
    if (tenant.status === 'absent' || Tenant.isClosed(tenant)) throw notFound();
    return tenant;
  };

  const authorizeOnAgent = async (
    tenant: Tenant.Tenant,
    principal: User,
    permission: Permission,
    agent_id: string | undefined,
  ): Promise<undefined> => {
    const role = tenantRoleOf(tenant, principal)!;
    if (role === 'OWNER' || role === 'ADMIN') return;
    const agent = agent_id ? (await cache.loadCached(Agent, tenant.id, agent_id)).state : Agent.initial;
    checkAgentPermission(withLimitedRole(tenant, principal.user_id, role), principal, agent, permission);
  };

  const authorizeOne = async (principal: Principal, permission: Permission, { tenant_id, agent_id }: Scope): ReturnType<Authorize> => {
    if (permission === 'none' || permission === 'any') return undefined;
    if (permission === 'platform') return authorizeOnPlatform(principal);
    if (principal.kind !== 'user') return refuseWithoutUser(principal, permission, tenant_id);
    if (!tenant_id || (principal.bound_to !== null && principal.bound_to !== tenant_id)) throw notFound();
    const tenant = await loadTenant(tenant_id);
    const role = tenantRoleOf(tenant, principal);
    if (!role) return authorizeGuest(tenant, principal, permission, now);
    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');
    if (isTenantPermission(permission)) {
      if (!tenantRoleAllows(role, permission)) throw forbidden(permission);
      return undefined;
    }
    return authorizeOnAgent(tenant, principal, permission, agent_id);
  };

  /**
   * Whether the URL path names this runner's agent or, if `runner` is `in tenant`, its tenant.
   * @throws Refusal tenant_suspended if its tenant is suspended, not_found if its agent is deleted
   */
  const isOwnScope = async (
    principal: Runner,
    runner: true | 'in tenant',
    { tenant_id, agent_id = runner === 'in tenant' ? principal.agent_id : undefined }: Scope,
  ): Promise<boolean> => {
    if (principal.tenant_id !== tenant_id || principal.agent_id !== agent_id) return false;
    if ((await loadTenant(tenant_id)).is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');
    if ((await cache.loadCached(Agent, tenant_id, principal.agent_id)).state.status !== 'live') throw notFound();
    return true;
  };

  return async (principal, permit, scope) => {
    const { all, runner, recentSignIn }: Exclude<Permit, string> = typeof permit === 'string' ? { all: [permit] } : permit;
    if (runner && principal.kind === 'runner' && (await isOwnScope(principal, runner, scope))) return undefined;
    let as: 'guest' | undefined;
    for (const permission of all) as = (await authorizeOne(principal, permission, scope)) ?? as;
    if (recentSignIn) assertRecentSignIn(principal, now());
    return as;
  };
};
