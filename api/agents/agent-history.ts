import * as Agent from '../../domain/agents/agent.ts';
import { AgentBudget, AgentRead } from '../../projections/agents/agent.ts';
import { HIDDEN, type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

type Assignments = Agent.Agent['roles'] | Agent.Agent['grants'];

const rolesOf = (assignments: Assignments) => Object.fromEntries(Object.entries(assignments).map(([user_id, { role }]) => [user_id, role]));

type Skills = Agent.Agent['skills'];
type Tools = Agent.Agent['tools'];
type Credentials = Agent.Agent['credentials'];

/** Returns a map from the ids of the skills that have a configuration to the events that set it. */
const configsOf = ({ skills }: Agent.Agent): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(skills).flatMap(([skill_id, { config }]) => (config ? [[skill_id, config]] : [])));

/**
 * The data that the history of an agent shows: settings, budget, model chain, roles, grants, skills, permissions on
 * skills, tools, and credentials of the tenant. The configurations of skills are secrets, so only their changes are
 * shown.
 */
export const agentHistory = {
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
    skill_permissions: agent.skill_permissions.map(({ skill_id, action, allowed }) => ({ skill_id, action, allowed })),
  }),
  entryMaps: {
    skills: { of: ({ skills }) => skills, show: ({ is_enabled }: Skills[string]) => ({ is_enabled }) },
    skill_configs: { of: configsOf, show: () => HIDDEN },
    tools: { of: ({ tools }) => tools, show: ({ is_enabled, configuration }: Tools[string]) => ({ is_enabled, configuration }) },
    credentials: { of: ({ credentials }) => credentials, show: ({ label }: Credentials[string]) => label },
  },
} as const satisfies HistorySubject<Agent.Agent, Agent.AgentEvent>;

export const agentHistoryOperations = historyOperationsOf('Agent', agentHistory);
