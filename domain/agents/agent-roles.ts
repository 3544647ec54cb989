import type { EventRef } from '../event.ts';
import type { ById } from '../immutable-record.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type RoleAssignments } from './agent.ts';
import type { AgentRole, GrantRole } from './role-permissions.ts';

/**
 * The members of a tenant by user id. `since` is the sort key of the log position at which the membership began. `by`
 * is the event that gave the member their present tenant role.
 */
export type Members = ById<{ readonly role: string; readonly since: string; readonly by: EventRef }>;

/**
 * Returns the role of a user if it is in effect: the user must be a member, and must have got the role during the
 * present membership. Log positions decide which came first, because clocks differ.
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

/** Returns only the assignments that are in effect (see `effectiveRole`). */
export const effectiveRoles = <Role>(assignments: RoleAssignments<Role>, members: Members): RoleAssignments<Role> =>
  Object.fromEntries(Object.entries(assignments).filter(([user_id]) => effectiveRole(assignments, members, user_id)));

/**
 * Whether the user has an assignment that is not in effect, such as one from an earlier membership. Revoke it before
 * you assign a new role: otherwise the new assignment would keep the creation date of the old one.
 */
const isLapsed = <Role>(assignments: RoleAssignments<Role>, members: Members, user_id: string): boolean =>
  assignments[user_id] !== undefined && !effectiveRole(assignments, members, user_id);

/** Returns the event that revokes a role which is no longer in effect; no event if the user has no such role. */
export const revokeLapsedRole = ({ roles }: Agent, members: Members, user_id: string): AgentEvent[] =>
  isLapsed(roles, members, user_id) ? [{ type: 'AgentRoleRevoked', data: { user_id } }] : [];

const ownerIdsIn = (assignments: ById<{ readonly role: string }>): string[] =>
  Object.keys(assignments).filter((user_id) => assignments[user_id]!.role === 'OWNER');

/** The members who were made OWNER of the agent. Empty if all of them have left the tenant. */
export const explicitOwners = ({ roles }: Agent, members: Members): string[] => ownerIdsIn(effectiveRoles(roles, members));

/**
 * The roles that members have on the agent. If no OWNER of the agent is a member any more, the OWNERs of the tenant own
 * it. This can happen because memberships and agents have separate streams: a member can leave while another process
 * makes them OWNER of an agent. A tenant always has an OWNER, so every agent has one, too.
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

/** The ids of the members who own the agent; there is always at least one. */
export const ownersOf = (agent: Agent, members: Members): string[] => ownerIdsIn(rolesOf(agent, members));

const assertNotLastOwner = (agent: Agent, members: Members, user_id: string): void => {
  const others = explicitOwners(agent, members).some((id) => id !== user_id);
  if (!others && ownersOf(agent, members).includes(user_id))
    throw new Refusal('conflict', 'An agent must have an OWNER: transfer the ownership instead');
};

/**
 * Assigns a role on the agent to a member. It replaces the role that the member has on the agent.
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

/** Revokes a member's role on the agent. @throws Refusal not_found, conflict if the member is the agent's last OWNER */
export const revokeRole =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    assertNotLastOwner(agent, members, user_id);
    if (!effectiveRole(agent.roles, members, user_id)) throw new Refusal('not_found', 'The user has no role on this agent');
    return [{ type: 'AgentRoleRevoked', data: { user_id } }];
  };

/**
 * Grants a member access to the agent, in addition to any role.
 * @throws Refusal not_found, invalid if the user is not a member
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

/** Revokes a member's grant on the agent. @throws Refusal not_found */
export const revokeGrant =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!effectiveRole(agent.grants, members, user_id)) throw new Refusal('not_found', 'The user has no grant on this agent');
    return [{ type: 'AgentAccessRevoked', data: { user_id } }];
  };

/**
 * Makes a member the only OWNER of the agent. Previous OWNERs become MANAGER.
 * @throws Refusal not_found, invalid if the user is not a member
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
