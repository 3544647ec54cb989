import { agentCount } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { planLimit } from '../billing/plan-limit.ts';

/** Runs a change that adds or removes an agent, within the limit of the tenant's plan. */
export const withinAgentLimit = planLimit({ limit: 'agents', projection: agents.name, countOf: agentCount });
