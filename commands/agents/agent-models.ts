import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { grantModel, MAX_MODELS, reorderModelChain as reorder, revokeModel } from '../../domain/agents/agent-models.ts';
import * as Model from '../../domain/agents/model.ts';
import { idOf } from '../../domain/id.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import type { Ctx, Input } from '../context.ts';
import { loadAgent } from './agent.ts';

const CHAIN_LENGTH = `must have 1 to ${MAX_MODELS} items`;

export const AgentModelChainUpdate = z
  .strictObject({
    model_ids: z
      .array(idOf('model'))
      .min(1, CHAIN_LENGTH)
      .max(MAX_MODELS, CHAIN_LENGTH)
      .meta({ description: 'The models in their order; the first is the primary' }),
  })
  .meta({ id: 'AgentModelChainUpdate' });

export const AgentModelGrant = z
  .strictObject({
    agent_id: idOf('agent'),
    access: z.enum(['full', 'read_only']).default('full').meta({ description: 'What the agent may do with the model' }),
    priority: z
      .int()
      .min(0)
      .max(MAX_MODELS - 1)
      .default(0)
      .meta({ description: 'The place in the chain; 0 is the primary. The models from this place on move down' }),
  })
  .meta({ id: 'AgentModelGrant' });

/** Checks only models that the present chain lacks. @throws Refusal invalid if one is unknown, disabled or not available to the tenant */
const checkModels = async (ctx: Ctx, model_ids: readonly string[], current: readonly string[]): Promise<void> => {
  const added = model_ids.filter((id) => !current.includes(id));
  const models = await Promise.all(added.map((id) => ctx.load(Model, id)));
  const unusable = models.find((model) => !Model.isUsable(model.state, ctx.tenant));
  if (unusable) throw invalid(`/model_ids/${model_ids.indexOf(unusable.id)}`, 'is not a model that this tenant can use', 'unknown_model');
};

export const reorderModelChain = async (
  ctx: Ctx,
  { agent_id, model_ids }: Input<typeof AgentModelChainUpdate, 'tenant_id' | 'agent_id'>,
) => {
  const { state } = await loadAgent(ctx, agent_id);
  await checkModels(
    ctx,
    model_ids,
    state.models.map((model) => model.model_id),
  );
  return ctx.transact(Agent, agent_id, reorder(model_ids));
};

/**
 * Changes access or priority of a model that is in the chain.
 * @throws Refusal not_found if there is no such agent or the tenant cannot use the model, invalid if it is disabled, conflict if the chain
 * is full
 */
export const grantAgentModel = async (ctx: Ctx, input: Input<typeof AgentModelGrant, 'tenant_id' | 'model_id'>) => {
  const { agent_id, model_id, access, priority } = input;
  const { state } = await loadAgent(ctx, agent_id);
  const isKnown = state.models.some((model) => model.model_id === model_id);
  const { state: model } = await ctx.load(Model, model_id);
  if (!isKnown && !Model.isOpenTo(model, ctx.tenant)) throw new Refusal('not_found', 'There is no such model');
  if (!isKnown && !Model.isUsable(model, ctx.tenant)) throw invalid('/path/model_id', 'is disabled', 'disabled_model');
  let existed = false;
  const loaded = await ctx.transact(Agent, agent_id, (agent) => {
    existed = agent.models.some((link) => link.model_id === model_id);
    return grantModel(model_id, access, priority)(agent);
  });
  return { ...loaded, existed };
};

export const revokeAgentModel = (ctx: Ctx, { agent_id, model_id }: { agent_id: string; model_id: string }) =>
  ctx.transact(Agent, agent_id, revokeModel(model_id));
