import {
  agentAllows,
  isAgentPermission,
  isTenantPermission,
  type Permission,
  type Permit,
  roleIn,
  tenantRoleAllows,
} from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import type { DomainEvent } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Loaded } from '../context.ts';

export type PermitDeps = {
  peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  now: () => number;
};

/** What a super-admin may do inside a tenant: look. */
const GUEST: readonly Permission[] = [
  'tenant:read',
  'tenant:audit:read',
  'tenant:billing:read',
  'tenant:integrations:read',
  'agent:read',
  'agent:chat:read',
];

/** Where an operation happens: the tenant of its path and the agent of its path. */
export type Scope = { readonly tenant_id?: string | undefined; readonly agent_id?: string | undefined };

const forbidden = (permission: Permission) =>
  new Refusal('forbidden', `this needs the permission ${permission}`, { members: { permission } });

/**
 * Decides whether a caller may. A foreign tenant answers like a missing one. @returns 'guest' for a super-admin who looks into a tenant
 * @throws Refusal forbidden, not_found, tenant_suspended
 */
export const permitter = ({ peek, load, now }: PermitDeps) => {
  const read = async <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string): Promise<S> =>
    (peek(aggregate, tenant, id) ?? (await load(aggregate, tenant, id))).state;

  const tenantOf = async (tenant_id: string): Promise<Tenant.Tenant> => {
    const tenant = await read(Tenant, tenant_id, tenant_id);
    if (tenant.status === 'absent' || Tenant.isClosed(tenant)) throw notFound();
    return tenant;
  };

  const onAgent = async (
    tenant: Tenant.Tenant,
    principal: Principal & { kind: 'user' },
    permission: Permission,
    agent_id: string | undefined,
  ) => {
    const role = roleIn(tenant, principal)!;
    if (role === 'OWNER' || role === 'ADMIN') return;
    const agent = agent_id ? await read(Agent, tenant.id, agent_id) : Agent.initial;
    // Who may delete an agent may bring it back.
    const there = agent.status === 'live' || (agent.status === 'deleted' && permission === 'agent:delete');
    if (!there || !agentAllows(tenant, principal.user_id, agent, 'agent:read')) throw notFound();
    if (!isAgentPermission(permission) || !agentAllows(tenant, principal.user_id, agent, permission)) throw forbidden(permission);
  };

  /** A super-admin who opened the tenant may look around in it until then. */
  const asGuest = (tenant: Tenant.Tenant, principal: Principal & { kind: 'user' }, permission: Permission): 'guest' => {
    if (!principal.super_admin) throw notFound();
    const open = tenant.allow_superadmin_access && (tenant.opened[principal.user_id] ?? '') > new Date(now()).toISOString();
    if (!open) throw new Refusal('forbidden', 'open the tenant with a reason first: POST /admin/tenants/{tenant_id}/break-glass');
    if (!GUEST.includes(permission)) throw forbidden(permission);
    return 'guest';
  };

  const one = async (principal: Principal, permission: Permission, { tenant_id, agent_id }: Scope): Promise<'guest' | undefined> => {
    if (permission === 'none' || permission === 'any') return undefined;
    if (permission === 'platform') {
      if (principal.kind === 'user' && principal.super_admin && principal.bound_to === null) return undefined;
      throw forbidden(permission);
    }
    if (principal.kind !== 'user')
      throw principal.kind === 'runner' && principal.tenant_id === tenant_id ? forbidden(permission) : notFound();
    if (!tenant_id || (principal.bound_to !== null && principal.bound_to !== tenant_id)) throw notFound();
    const tenant = await tenantOf(tenant_id);
    const role = roleIn(tenant, principal);
    if (!role) return asGuest(tenant, principal, permission);
    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'the tenant is suspended');
    if (isTenantPermission(permission)) {
      if (!tenantRoleAllows(role, permission)) throw forbidden(permission);
      return undefined;
    }
    await onAgent(tenant, principal, permission, agent_id);
    return undefined;
  };

  const asRunner = async (principal: Principal & { kind: 'runner' }, { tenant_id, agent_id }: Scope): Promise<boolean> => {
    if (principal.tenant_id !== tenant_id || principal.agent_id !== agent_id) return false;
    if ((await tenantOf(tenant_id)).is_suspended) throw new Refusal('tenant_suspended', 'the tenant is suspended');
    return true;
  };

  return async (principal: Principal, permit: Permit, place: Scope): Promise<'guest' | undefined> => {
    const { all, runner } = typeof permit === 'string' ? { all: [permit], runner: false } : permit;
    if (runner && principal.kind === 'runner' && (await asRunner(principal, place))) return undefined;
    let as: 'guest' | undefined;
    for (const permission of all) as = (await one(principal, permission, place)) ?? as;
    return as;
  };
};
