import type { EventRef } from '../event.ts';
import type { ById } from '../immutable-record.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type RoleAssignments } from './agent.ts';
import type { AgentRole, GrantRole } from './role-permissions.ts';

/** The members of the tenant by user id. `since` is where the membership began in the log, `by` the event that gave the role. */
export type Members = ById<{ readonly role: string; readonly since: string; readonly by: EventRef }>;

/** What somebody holds; what was given before they became a member (again), by the log's order, counts no more: clocks differ. */
export const effectiveRole = <Role>(
  held: RoleAssignments<Role>,
  members: Members,
  user_id: string,
): RoleAssignments<Role>[string] | undefined => {
  const given = held[user_id];
  const member = members[user_id];
  return given && member && given.since > member.since ? given : undefined;
};

/** What counts of all that is held. */
export const effectiveRoles = <Role>(held: RoleAssignments<Role>, members: Members): RoleAssignments<Role> =>
  Object.fromEntries(Object.entries(held).filter(([user_id]) => effectiveRole(held, members, user_id)));

/** Left by an earlier membership: it counts as nothing, and is taken before the same is given anew, so that its dates begin then. */
const isLapsed = <Role>(held: RoleAssignments<Role>, members: Members, user_id: string): boolean =>
  held[user_id] !== undefined && !effectiveRole(held, members, user_id);

/** What takes a role of an earlier membership away before one is given anew. */
export const revokeLapsedRole = ({ roles }: Agent, members: Members, user_id: string): AgentEvent[] =>
  isLapsed(roles, members, user_id) ? [{ type: 'AgentRoleRevoked', data: { user_id } }] : [];

const ownerIdsIn = (held: Record<string, { readonly role: string }>): string[] =>
  Object.keys(held).filter((user_id) => held[user_id]!.role === 'OWNER');

/** The members who were made OWNER of the agent: none where they have all left. */
export const explicitOwners = ({ roles }: Agent, members: Members): string[] => ownerIdsIn(effectiveRoles(roles, members));

/**
 * The roles that members have on the agent. Where nobody is left of those who were made its OWNER, the tenant's OWNERs are: members leave in one
 * stream and agents are given in another, by processes that do not know of each other, but a tenant always has an OWNER by its own stream
 * alone. So an agent has one, whatever crosses.
 */
export const rolesOf = (agent: Agent, members: Members): RoleAssignments<AgentRole> => {
  const held = effectiveRoles(agent.roles, members);
  const heirs = explicitOwners(agent, members).length > 0 ? [] : ownerIdsIn(members);
  const inherited = (user_id: string) => {
    const { since, by } = members[user_id]!;
    return [user_id, { role: 'OWNER', created_at: by.at, updated_at: by.at, since, by }];
  };
  return { ...held, ...Object.fromEntries(heirs.map(inherited)) };
};

/** The members who own the agent: one at least. */
export const ownersOf = (agent: Agent, members: Members): string[] => ownerIdsIn(rolesOf(agent, members));

const assertNotLastOwner = (agent: Agent, members: Members, user_id: string): void => {
  const others = explicitOwners(agent, members).some((id) => id !== user_id);
  if (!others && ownersOf(agent, members).includes(user_id))
    throw new Refusal('conflict', 'an agent always has an OWNER: transfer the ownership instead');
};

/** Gives a member a role on the agent, in place of the one held. @throws Refusal not_found (the user is no member too), conflict for the last OWNER */
export const assignRole =
  (user_id: string, role: AgentRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw new Refusal('not_found', 'there is no such member');
    if (role !== 'OWNER') assertNotLastOwner(agent, members, user_id);
    if (effectiveRole(agent.roles, members, user_id)?.role === role) return [];
    return [...revokeLapsedRole(agent, members, user_id), { type: 'AgentRoleAssigned', data: { user_id, role } }];
  };

/** @throws Refusal not_found, conflict for the last OWNER */
export const revokeRole =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    assertNotLastOwner(agent, members, user_id);
    if (!effectiveRole(agent.roles, members, user_id)) throw new Refusal('not_found', 'holds no role on this agent');
    return [{ type: 'AgentRoleRevoked', data: { user_id } }];
  };

/** @throws Refusal not_found, invalid where the user is no member */
export const grant =
  (user_id: string, role: GrantRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');
    if (effectiveRole(agent.grants, members, user_id)?.role === role) return [];
    const revoked: AgentEvent[] = isLapsed(agent.grants, members, user_id) ? [{ type: 'AgentAccessRevoked', data: { user_id } }] : [];
    return [...revoked, { type: 'AgentAccessGranted', data: { user_id, role } }];
  };

/** @throws Refusal not_found */
export const revokeGrant =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!effectiveRole(agent.grants, members, user_id)) throw new Refusal('not_found', 'has no grant on this agent');
    return [{ type: 'AgentAccessRevoked', data: { user_id } }];
  };

/** Makes a member the only OWNER; who was one is MANAGER from then on. @throws Refusal not_found, invalid where the user is no member */
export const transferOwnership =
  (new_owner_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[new_owner_id]) throw invalid('/new_owner_id', 'is not a member of this tenant', 'not_a_member');
    const owners = explicitOwners(agent, members);
    const old_owner_ids = owners.filter((user_id) => user_id !== new_owner_id);
    if (old_owner_ids.length === 0 && owners.includes(new_owner_id)) return [];
    return [
      ...revokeLapsedRole(agent, members, new_owner_id),
      { type: 'AgentOwnershipTransferred', data: { new_owner_id, old_owner_ids } },
    ];
  };
