import type { EventRef } from '../event.ts';
import type { ById } from '../immutable-record.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type RoleAssignments } from './agent.ts';
import type { AgentRole, GrantRole } from './role-permissions.ts';

/** Members by user id. `since`: the sort key at which the membership began; `by`: the event that gave the present tenant role. */
export type Members = ById<{ readonly role: string; readonly since: string; readonly by: EventRef }>;

/**
 * An assignment has an effect if the user is a member now and got it after this membership began. Compares log positions, not times,
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

export const effectiveRoles = <Role>(assignments: RoleAssignments<Role>, members: Members): RoleAssignments<Role> =>
  Object.fromEntries(Object.entries(assignments).filter(([user_id]) => effectiveRole(assignments, members, user_id)));

/**
 * An assignment without effect, for example from an earlier membership, must be revoked before the user gets a new role; otherwise the new
 * role would keep the creation date of the old one.
 */
const isLapsed = <Role>(assignments: RoleAssignments<Role>, members: Members, user_id: string): boolean =>
  assignments[user_id] !== undefined && !effectiveRole(assignments, members, user_id);

export const revokeLapsedRole = ({ roles }: Agent, members: Members, user_id: string): AgentEvent[] =>
  isLapsed(roles, members, user_id) ? [{ type: 'AgentRoleRevoked', data: { user_id } }] : [];

const ownerIdsIn = (assignments: ById<{ readonly role: string }>): string[] =>
  Object.keys(assignments).filter((user_id) => assignments[user_id]!.role === 'OWNER');

/** Empty if all members who were made OWNER of the agent have left the tenant. */
export const explicitOwners = ({ roles }: Agent, members: Members): string[] => ownerIdsIn(effectiveRoles(roles, members));

/**
 * If no OWNER of the agent is still a member, each OWNER of the tenant counts as one, so each agent has an OWNER. This happens if a member
 * leaves while another process makes the member OWNER of an agent: these are separate streams.
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

/** There is always at least one (see `rolesOf`). */
export const ownersOf = (agent: Agent, members: Members): string[] => ownerIdsIn(rolesOf(agent, members));

const assertNotLastOwner = (agent: Agent, members: Members, user_id: string): void => {
  const others = explicitOwners(agent, members).some((id) => id !== user_id);
  if (!others && ownersOf(agent, members).includes(user_id))
    throw new Refusal('conflict', 'An agent must have an OWNER: transfer the ownership instead');
};

/** Replaces the member's present role. @throws Refusal not_found, conflict if the agent would lose its last OWNER */
export const assignRole =
  (user_id: string, role: AgentRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw new Refusal('not_found', 'There is no such member');
    if (role !== 'OWNER') assertNotLastOwner(agent, members, user_id);
    if (effectiveRole(agent.roles, members, user_id)?.role === role) return [];
    return [...revokeLapsedRole(agent, members, user_id), { type: 'AgentRoleAssigned', data: { user_id, role } }];
  };

/** @throws Refusal not_found if the agent or the role does not exist, conflict if the member is the agent's last OWNER */
export const revokeRole =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    assertNotLastOwner(agent, members, user_id);
    if (!effectiveRole(agent.roles, members, user_id)) throw new Refusal('not_found', 'The user has no role on this agent');
    return [{ type: 'AgentRoleRevoked', data: { user_id } }];
  };

/** The grant is in addition to any role of the member. @throws Refusal not_found, invalid if the user is not a member */
export const grant =
  (user_id: string, role: GrantRole, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');
    if (effectiveRole(agent.grants, members, user_id)?.role === role) return [];
    const revoked: AgentEvent[] = isLapsed(agent.grants, members, user_id) ? [{ type: 'AgentAccessRevoked', data: { user_id } }] : [];
    return [...revoked, { type: 'AgentAccessGranted', data: { user_id, role } }];
  };

/** @throws Refusal not_found if the agent or the grant does not exist */
export const revokeGrant =
  (user_id: string, members: Members) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (!effectiveRole(agent.grants, members, user_id)) throw new Refusal('not_found', 'The user has no grant on this agent');
    return [{ type: 'AgentAccessRevoked', data: { user_id } }];
  };

/** The other OWNERs become MANAGER. @throws Refusal not_found, invalid if the user is not a member */
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
