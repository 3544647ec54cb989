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
