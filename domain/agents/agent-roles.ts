import type { EventRef } from '../event.ts';
import type { ById } from '../immutable-record.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type RoleAssignments } from './agent.ts';
import type { AgentRole, GrantRole } from './role-permissions.ts';

/**
 * Maps the user ids of a tenant's members to their memberships. `since` is the sort key of the log position at which
 * the membership began. `by` is the event that gave the member the present role in the tenant.
 */
export type Members = ById<{ readonly role: string; readonly since: string; readonly by: EventRef }>;

/**
 * Returns the user's entry in `assignments` if it has an effect; otherwise undefined. It has an effect if the user is a
 * member of the tenant now, and got the role after this membership began. Log positions are compared instead of times,
 * because the clocks of processes differ.
 */
export const effectiveRole = <Role>(
  assignments: RoleAssignments<Role>,
  members: Members,
  user_id: string,
): RoleAssignments<Role>[string] | undefined => {
  const assignment = assignments[user_id];
  const member = members[user_id];
  return assignment && member && assignment.since > member.since ? assignment : undefined;
};

/** Returns only those assignments that have an effect (see `effectiveRole`). */
export const effectiveRoles = <Role>(assignments: RoleAssignments<Role>, members: Members): RoleAssignments<Role> =>
  Object.fromEntries(Object.entries(assignments).filter(([user_id]) => effectiveRole(assignments, members, user_id)));

/**
 * Returns whether the user has an assignment without effect, for example from an earlier membership. It must be revoked
 * before the user gets a new role; otherwise the new role would keep the creation date of the old one.
 */
const isLapsed = <Role>(assignments: RoleAssignments<Role>, members: Members, user_id: string): boolean =>
  assignments[user_id] !== undefined && !effectiveRole(assignments, members, user_id);

/**
 * Returns an event that revokes the user's role on the agent if this role has no effect (see `isLapsed`); otherwise
 * returns no event.
 */
export const revokeLapsedRole = ({ roles }: Agent, members: Members, user_id: string): AgentEvent[] =>
  isLapsed(roles, members, user_id) ? [{ type: 'AgentRoleRevoked', data: { user_id } }] : [];

const ownerIdsIn = (assignments: ById<{ readonly role: string }>): string[] =>
  Object.keys(assignments).filter((user_id) => assignments[user_id]!.role === 'OWNER');

/**
 * Returns the ids of the members who were made OWNER of the agent. If all of them have left the tenant, the list is
 * empty.
 */
export const explicitOwners = ({ roles }: Agent, members: Members): string[] => ownerIdsIn(effectiveRoles(roles, members));

/**
 * Returns the roles of the members on the agent. If no OWNER of the agent is still a member, each OWNER of the tenant
 * counts as OWNER of the agent. This case arises if a member leaves the tenant while another process makes the same
 * member OWNER of an agent: no append can prevent this, because the membership and the agent are in separate streams. A
 * tenant always has an OWNER, so each of its agents has one, too.
 */
export const rolesOf = (agent: Agent, members: Members): RoleAssignments<AgentRole> => {
  const explicit = effectiveRoles(agent.roles, members);
  const heirs = explicitOwners(agent, members).length > 0 ? [] : ownerIdsIn(members);
  const inherited = (user_id: string) => {
    const { since, by } = members[user_id]!;
    return [user_id, { role: 'OWNER', created_at: by.at, updated_at: by.at, since, by }];
  };
  return { ...explicit, ...Object.fromEntries(heirs.map(inherited)) };
};

/** Returns the ids of the members who own the agent. There is always at least one (see `rolesOf`). */
export const ownersOf = (agent: Agent, members: Members): string[] => ownerIdsIn(rolesOf(agent, members));

const assertNotLastOwner = (agent: Agent, members: Members, user_id: string): void => {
  const others = explicitOwners(agent, members).some((id) => id !== user_id);
  if (!others && ownersOf(agent, members).includes(user_id))
    throw new Refusal('conflict', 'An agent must have an OWNER: transfer the ownership instead');
};

/**
 * Assigns a member a role on the agent. The new role replaces the member's present role on the agent.
 * @throws Refusal not_found if the agent or the member does not exist, conflict if the agent would lose its last OWNER
 */
export const assignRole =
  (user_id: string, role: AgentRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw new Refusal('not_found', 'There is no such member');
    if (role !== 'OWNER') assertNotLastOwner(agent, members, user_id);
    if (effectiveRole(agent.roles, members, user_id)?.role === role) return [];
    return [...revokeLapsedRole(agent, members, user_id), { type: 'AgentRoleAssigned', data: { user_id, role } }];
  };

/**
 * Revokes a member's role on the agent.
 * @throws Refusal not_found if the agent or the role does not exist, conflict if the member is the agent's last OWNER
 */
export const revokeRole =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    assertNotLastOwner(agent, members, user_id);
    if (!effectiveRole(agent.roles, members, user_id)) throw new Refusal('not_found', 'The user has no role on this agent');
    return [{ type: 'AgentRoleRevoked', data: { user_id } }];
  };

/**
 * Grants a member access to the agent, in addition to any role that the member has on it.
 * @throws Refusal not_found if the agent does not exist, invalid if the user is not a member
 */
export const grant =
  (user_id: string, role: GrantRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');
    if (effectiveRole(agent.grants, members, user_id)?.role === role) return [];
    const revoked: AgentEvent[] = isLapsed(agent.grants, members, user_id) ? [{ type: 'AgentAccessRevoked', data: { user_id } }] : [];
    return [...revoked, { type: 'AgentAccessGranted', data: { user_id, role } }];
  };

/** Revokes a member's grant on the agent. @throws Refusal not_found if the agent or the grant does not exist */
export const revokeGrant =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!effectiveRole(agent.grants, members, user_id)) throw new Refusal('not_found', 'The user has no grant on this agent');
    return [{ type: 'AgentAccessRevoked', data: { user_id } }];
  };

/**
 * Makes a member the only OWNER of the agent. The other OWNERs become MANAGER.
 * @throws Refusal not_found if the agent does not exist, invalid if the user is not a member
 */
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
