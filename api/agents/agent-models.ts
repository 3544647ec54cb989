import { z } from 'zod';
import {
  AgentModelChainUpdate,
  AgentModelGrant,
  grantAgentModel,
  reorderModelChain,
  revokeAgentModel,
} from '../../commands/agents/agent-models.ts';
import type { Loaded } from '../../commands/context.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { AgentModelRead, AgentModels, agents } from '../../projections/agents/agent.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';
import { requireOnAgentInBody } from './agent-in-body.ts';
import { agentDoc } from './agent-settings.ts';

const AGENT_MODELS = '/tenant/:tenant_id/agents/:agent_id/models';
const MODEL_AGENTS = '/tenant/:tenant_id/models/:model_id/agents';

/** Returns the entry of one model in the agent's model chain (its models in order of priority), as AgentModelRead. */
const linkOf = async (loaded: Promise<Loaded<Agent.Agent>>, model_id: string) => {
  const { state, ...rest } = await loaded;
  return { ...rest, state: AgentModels.parse(state).find((model) => model.model_id === model_id) };
};

/** The operations on the model chains of agents, which are their models in order of priority. */
export const agentModelOperations = {
  listAgentModels: operation({
    method: 'get',
    path: AGENT_MODELS,
    summary: "Read an agent's model chain",
    details: 'The first model is the primary.',
    permit: 'agent:read',
    reply: z.array(AgentModelRead),
    projection: agents.name,
    aggregate: Agent,
    query: asOfQuery,
    run: (ctx, { agent_id }) => agentDoc(ctx, agent_id, 'models_doc', AgentModels),
  }),
  reorderModelChain: operation({
    method: 'put',
    path: AGENT_MODELS,
    summary: "Replace an agent's model chain",
    permit: 'agent:settings:write',
    body: AgentModelChainUpdate,
    reply: AgentModels,
    run: reorderModelChain,
  }),
  grantModel: operation({
    method: 'post',
    path: MODEL_AGENTS,
    summary: "Add a model to an agent's chain",
    details: 'Changes its access or its place if the model is in the chain already. A chain has at most five models.',
    permit: 'tenant:read',
    permissionNote: 'Requires the permission `agent:settings:write` on the agent.',
    preauthorize: requireOnAgentInBody('agent:settings:write'),
    body: AgentModelGrant,
    reply: AgentModelRead,
    status: 201,
    alternateStatus: 200,
    run: (ctx, input) => linkOf(grantAgentModel(ctx, input), input.model_id),
  }),
  revokeModel: operation({
    method: 'delete',
    path: `${MODEL_AGENTS}/:agent_id`,
    summary: "Remove a model from an agent's chain",
    permit: 'agent:settings:write',
    run: revokeAgentModel,
  }),
};
