import * as Agent from '../../domain/agents/agent.ts';
import { AgentBudget, AgentRead } from '../../projections/agents/agent.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

type Assignments = Agent.Agent['roles'] | Agent.Agent['grants'];

const rolesOf = (assignments: Assignments) => Object.fromEntries(Object.entries(assignments).map(([user_id, { role }]) => [user_id, role]));

/** What the history of an agent shows: settings, budget, model chain, roles and grants. */
export const agentHistory: HistorySubject<Agent.Agent, Agent.AgentEvent> = {
  aggregate: Agent,
  path: '/tenant/:tenant_id/agents/:agent_id',
  permit: 'agent:read',
  noun: 'agent',
  fieldsOf: (agent) => ({
    ...AgentRead.parse(agent),
    ...AgentBudget.parse(agent),
    deleted: agent.status !== 'live',
    models: agent.models.map(({ model_id, access }) => ({ model_id, access })),
    roles: rolesOf(agent.roles),
    grants: rolesOf(agent.grants),
  }),
};

export const agentHistoryOperations = historyOperationsOf('Agent', agentHistory);
