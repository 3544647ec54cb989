import type { Agent } from '../agents/agent.ts';
import { ownersOf } from '../agents/agent-roles.ts';
import { checkLimit, type Limits } from '../billing/plan.ts';
import { conflict, Refusal } from '../refusal.ts';
import { assertExists, type Tenant, type TenantEvent } from './tenant.ts';
import type { Member } from './tenant-member.ts';
import type { TenantRole } from './tenant-role.ts';

/** @throws Refusal not_found if the user is not a member */
export const memberOf = (tenant: Tenant, user_id: string): Member => {
  const member = tenant.members[user_id];
  if (!member) throw new Refusal('not_found', 'There is no such member');
  return member;
};

/** `roles`: those before and after the change. @throws Refusal forbidden if one is OWNER and the caller is not */
export const assertMayChangeOwners = (callerRole: TenantRole, ...roles: TenantRole[]): void => {
  if (callerRole !== 'OWNER' && roles.includes('OWNER')) throw new Refusal('forbidden', 'Only an OWNER may add, change or remove an OWNER');
};

/** The change is to rename or revoke the key. @throws Refusal forbidden if the key is an OWNER's and the caller is not an OWNER */
export const assertMayChangeKeyOf = ({ members }: Tenant, callerRole: TenantRole | null, owner_id: string): void => {
  if (callerRole !== 'OWNER' && members[owner_id]?.role === 'OWNER')
    throw new Refusal('forbidden', 'Only an OWNER may rename or revoke the API key of an OWNER');
};

const assertNotLastOwner = (tenant: Tenant, user_id: string): void => {
  const others = Object.entries(tenant.members).some(([id, { role }]) => id !== user_id && role === 'OWNER');
  if (!others) throw conflict('/path/user_id', 'last_owner', 'A tenant must have an OWNER: make another member OWNER first', { user_id });
};

/**
 * @throws Refusal not_found if the tenant does not exist, conflict if the user is already a member, plan_limit, forbidden if the caller
 * may not add an OWNER
 */
export const add =
  (user_id: string, role: TenantRole, callerRole: TenantRole, limits?: Limits) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    assertMayChangeOwners(callerRole, role);
    if (tenant.members[user_id]) throw conflict('/email', 'already_member', 'The user is already a member of this tenant', { user_id });
    if (limits) checkLimit(limits, 'members', Object.keys(tenant.members).length);
    return [{ type: 'MemberAdded', data: { user_id, role } }];
  };

/** @throws Refusal not_found, forbidden if the caller may not change OWNERs, conflict if the tenant would lose its last OWNER */
export const changeRole =
  (user_id: string, role: TenantRole, callerRole: TenantRole) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const member = memberOf(tenant, user_id);
    if (member.role === role) return [];
    assertMayChangeOwners(callerRole, member.role, role);
    if (member.role === 'OWNER') assertNotLastOwner(tenant, user_id);
    return [{ type: 'MemberRoleChanged', data: { user_id, role } }];
  };

/** @throws Refusal conflict with the ids of the agents that have no other OWNER */
const assertNotOnlyAgentOwner = (agents: readonly Agent[], { members }: Tenant, user_id: string): void => {
  const isOnlyOwner = (agent: Agent): boolean => agent.status === 'live' && ownersOf(agent, members).every((id) => id === user_id);
  const agent_ids = agents.filter(isOnlyOwner).map(({ id }) => id);
  if (agent_ids.length > 0)
    throw conflict('/path/user_id', 'last_agent_owner', 'The user is the only OWNER of some agents: transfer them first', { agent_ids });
};

/**
 * `agents` must include every agent that the user owns; further ones have no effect.
 * @throws Refusal not_found, forbidden if the caller may not remove an OWNER, conflict if the tenant or an agent would lose its last OWNER
 */
export const remove =
  (user_id: string, callerRole: TenantRole, agents: readonly Agent[] = []) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const { role } = memberOf(tenant, user_id);
    assertMayChangeOwners(callerRole, role);
    if (role === 'OWNER') assertNotLastOwner(tenant, user_id);
    assertNotOnlyAgentOwner(agents, tenant, user_id);
    return [{ type: 'MemberRemoved', data: { user_id } }];
  };
