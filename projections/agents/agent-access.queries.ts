import { sql } from 'kysely';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

const ownedAgents = defineQuery((db, { tenant_id, user_id }: { tenant_id: string; user_id: string }) =>
  db
    .selectFrom('agents.agent_access as access')
    .innerJoin('agents.agents as agent', (join) =>
      join.onRef('agent.tenant_id', '=', 'access.tenant_id').onRef('agent.id', '=', 'access.agent_id'),
    )
    .where('access.tenant_id', '=', tenant_id)
    .where('access.user_id', '=', user_id)
    .where('access.role', '=', 'OWNER')
    .where('agent.deleted', 'is not', true)
    .select('agent.id')
    .distinct()
    .orderBy('agent.id'),
);

/**
 * Returns the ids of the agents that a user owns. The latest changes may be missing, because the projection may lag
 * behind the log.
 */
export const agentsOwnedBy = async (reads: Reads, tenant_id: string, user_id: string): Promise<string[]> =>
  (await reads.rows(ownedAgents, { tenant_id, user_id })).map(({ id }) => id);

type AgentAccess = { readonly tenant_id: string; readonly user_id: string; readonly roles: readonly string[]; readonly since: string };

const accessibleAgents = defineQuery((db, { tenant_id, user_id, roles, since }: AgentAccess) =>
  db
    .selectFrom('agents.agent_access as access')
    .where('access.tenant_id', '=', tenant_id)
    .where('access.user_id', '=', user_id)
    .where(({ eb, fn, val }) => eb('access.role', '=', fn.any(val(roles))))
    .where('access.given', '>', since)
    .select('access.agent_id')
    .distinct(),
);

/**
 * Returns the ids of the agents on which a user has one of these roles, by a role or a grant, in no particular order.
 * The caller must check each agent: it may be deleted or restricted to admins, and the projection may lag behind the
 * log.
 */
export const agentsOpenTo = async (reads: Reads, access: AgentAccess): Promise<string[]> =>
  (await reads.rows(accessibleAgents, access)).map(({ agent_id }) => agent_id);

const agentsOfUser = defineQuery((db, { tenant_id, user_id }: { tenant_id: string; user_id: string }) =>
  db
    .selectFrom('agents.agent_access as access')
    .where('access.tenant_id', '=', tenant_id)
    .where('access.user_id', '=', user_id)
    .select('access.agent_id')
    .distinct(),
);

/** Returns the ids of the agents on which a user has a role or a grant. The caller must check each, as with `agentsOpenTo`. */
export const agentsGivenTo = async (reads: Reads, tenant_id: string, user_id: string): Promise<string[]> =>
  (await reads.rows(agentsOfUser, { tenant_id, user_id })).map(({ agent_id }) => agent_id);

type Members = { readonly tenant_id: string; readonly user_ids: readonly string[]; readonly since: readonly string[] };

const agentsPerMember = defineQuery((db, { tenant_id, user_ids, since }: Members) =>
  db
    .selectFrom('agents.agent_access as access')
    .innerJoin(
      sql<{ user_id: string; since: string }>`unnest(${user_ids}::text[], ${since}::text[])`.as<'member'>(sql`member (user_id, since)`),
      (join) => join.onRef('member.user_id', '=', 'access.user_id').onRef('access.given', '>', 'member.since'),
    )
    .innerJoin('agents.agents as agent', (join) =>
      join.onRef('agent.tenant_id', '=', 'access.tenant_id').onRef('agent.id', '=', 'access.agent_id'),
    )
    .where('access.tenant_id', '=', tenant_id)
    .where('agent.deleted', 'is not', true)
    .groupBy('access.user_id')
    .select(({ fn, cast }) => ['access.user_id', cast<number>(fn.count('access.agent_id').distinct(), 'integer').as('count')]),
);

/**
 * Returns the number of agents on which each of these members has a role or a grant; members without any are absent. `since` has, for each
 * member, the sort key of the position at which the membership began: earlier roles do not count.
 */
export const agentCountsOf = async (reads: Reads, members: Members): Promise<ReadonlyMap<string, number>> =>
  new Map((await reads.rows(agentsPerMember, members)).map(({ user_id, count }) => [user_id, count]));
