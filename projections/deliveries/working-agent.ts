import { sql } from 'kysely';

/**
 * A condition for queries of all tenants: the tenant of the delivery is neither suspended nor closed, and the agent in this column is
 * not deleted.
 */
export const isOfWorkingAgent = (agent: 'agent_id' | 'message_agent_id') =>
  sql<boolean>`(not exists (select from tenants.tenants as tenant where tenant.id = delivery.tenant_id and (tenant.is_suspended or tenant.closing or tenant.closed)) and not exists (select from agents.agents as agent where agent.tenant_id = delivery.tenant_id and agent.id = ${sql.ref(`delivery.${agent}`)} and agent.deleted))`;
