import { jsonEqual } from '../aggregate.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, type AgentModel, assertExists, type ChainLink, type ModelAccess } from './agent.ts';

/** A model chain is an agent's models in order of priority. */
export const MAX_MODELS = 5;

/** The first model is the primary. @throws Refusal not_found, invalid if a model occurs twice */
export const reorderModelChain =
  (model_ids: readonly string[]) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (new Set(model_ids).size !== model_ids.length) throw invalid('/model_ids', 'must not contain the same model twice', 'duplicate');
    const current = agent.models.map((model) => model.model_id);
    if (jsonEqual(model_ids, current)) return [];
    const link = (model_id: string): ChainLink => {
      const known = agent.models.find((model) => model.model_id === model_id);
      return { model_id, access: known?.access ?? 'full', since: known?.created_at ?? null };
    };
    return [{ type: 'AgentModelChainReordered', data: { models: model_ids.map(link) } }];
  };

export const linkOf = ({ created_at, ...model }: AgentModel): ChainLink => ({ ...model, since: created_at });

/**
 * Adds a model or changes its access or priority; those at and after it move down. @throws Refusal not_found, conflict if the chain is
 * full
 */
export const grantModel =
  (model_id: string, access: ModelAccess, priority: number) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const others = agent.models.filter((model) => model.model_id !== model_id);
    if (others.length === MAX_MODELS) throw new Refusal('conflict', `The chain of the agent already has ${MAX_MODELS} models`);
    const place = Math.min(priority, others.length);
    const current = agent.models.findIndex((model) => model.model_id === model_id);
    if (current === place && agent.models[current]!.access === access) return [];
    const granted = { model_id, access, since: agent.models[current]?.created_at ?? null };
    return [{ type: 'AgentModelGranted', data: { model_id, models: others.map(linkOf).toSpliced(place, 0, granted) } }];
  };

/** @throws Refusal not_found if the agent does not exist, or its chain does not contain the model */
export const revokeModel =
  (model_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const others = agent.models.filter((model) => model.model_id !== model_id);
    if (others.length === agent.models.length) throw new Refusal('not_found', 'The agent does not have this model');
    return [{ type: 'AgentModelRevoked', data: { model_id, models: others.map(linkOf) } }];
  };
