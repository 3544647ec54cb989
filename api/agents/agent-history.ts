import * as Agent from '../../domain/agents/agent.ts';
import { AgentBudget, AgentRead } from '../../projections/agents/agent.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

type Assignments = Agent.Agent['roles'] | Agent.Agent['grants'];

const rolesOf = (assignments: Assignments) => Object.fromEntries(Object.entries(assignments).map(([user_id, { role }]) => [user_id, role]));

/** The skills of an agent, with the time of their configuration instead of the configuration itself. */
const skillsOf = ({ skills }: Agent.Agent) =>
  Object.fromEntries(Object.entries(skills).map(([id, { is_enabled, config }]) => [id, { is_enabled, configured_at: config?.at ?? null }]));

const toolsOf = ({ tools }: Agent.Agent) =>
  Object.fromEntries(Object.entries(tools).map(([id, { is_enabled, configuration }]) => [id, { is_enabled, configuration }]));

/** What the history of an agent shows: settings, budget, model chain, tools, roles, grants and skills. */
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
    tools: toolsOf(agent),
    roles: rolesOf(agent.roles),
    grants: rolesOf(agent.grants),
    skills: skillsOf(agent),
    skill_permissions: agent.skill_permissions.map(({ skill_id, action, allowed }) => ({ skill_id, action, allowed })),
  }),
};

export const agentHistoryOperations = historyOperationsOf('Agent', agentHistory);
