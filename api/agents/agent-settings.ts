import type { z } from 'zod';
import {
  AgentBudgetUpdate,
  AgentCanAuthorSkillsUpdate,
  AgentSkillVisibilityScopeUpdate,
  AgentUpdate,
  changeAgentBudget,
  changeAgentSkillVisibility,
  changeSkillAuthoring,
  updateAgent,
} from '../../commands/agents/agent-settings.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { agentById } from '../../projections/agents/agent.queries.ts';
import { AgentBudget, AgentBudgetRead, AgentRead, agents, type table } from '../../projections/agents/agent.ts';
import type { Doc } from '../../projections/read-model.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

/**
 * Returns one of the documents of an agent, such as its budget. For an as-of read, `schema` creates the document from
 * the agent's state at that log position. Null if the agent does not exist or is deleted.
 */
export const agentDoc = async (ctx: Ctx, agent_id: string, doc: keyof typeof table.docs, schema: z.ZodType): Promise<Doc | null> => {
  if (!ctx.asOf) return agentById(ctx.reads, ctx.tenant, agent_id, doc);
  const { state, revision } = await ctx.load(Agent, agent_id);
  return state.status === 'live' ? { doc: JSON.stringify(schema.parse(state)), revision } : null;
};

export const agentSettingsOperations = {
  updateAgent: operation({
    method: 'patch',
    path: AGENT,
    summary: 'Update an agent',
    details: 'Absent fields stay unchanged; null clears or resets a field.',
    permit: 'agent:settings:write',
    permissionNote:
      'Requires the permission `agent:settings:write`; to change `can_author_skills` or `is_admin_only` also `agent:roles:write`.',
    body: AgentUpdate,
    reply: AgentRead,
    run: updateAgent,
  }),
  changeSkillAuthoring: operation({
    method: 'put',
    path: `${AGENT}/can-author-skills`,
    summary: 'Change whether an agent may write skills',
    permit: 'agent:roles:write',
    body: AgentCanAuthorSkillsUpdate,
    reply: AgentRead,
    run: changeSkillAuthoring,
  }),
  changeSkillVisibilityScope: operation({
    method: 'put',
    path: `${AGENT}/skill-visibility-scope`,
    summary: 'Change who sees the skills that an agent writes',
    permit: 'agent:skills:write',
    body: AgentSkillVisibilityScopeUpdate,
    reply: AgentRead,
    run: changeAgentSkillVisibility,
  }),
  getAgentBudget: operation({
    method: 'get',
    path: `${AGENT}/budget`,
    summary: "Read an agent's hourly budget",
    permit: 'agent:read',
    reply: AgentBudgetRead,
    projection: agents.name,
    aggregate: Agent,
    query: asOfQuery,
    run: (ctx, { agent_id }) => agentDoc(ctx, agent_id, 'budget_doc', AgentBudget),
  }),
  changeAgentBudget: operation({
    method: 'put',
    path: `${AGENT}/budget`,
    summary: "Change an agent's hourly budget",
    details: 'Null removes the limit; an absent field keeps it.',
    permit: 'agent:settings:write',
    body: AgentBudgetUpdate,
    reply: AgentBudget,
    run: changeAgentBudget,
  }),
};
