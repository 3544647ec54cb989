import type { AgentModel, ModelAccess } from './agent.ts';
import { isUsable, type Model } from './model.ts';

/** A model that an agent uses. The priority is its place in the list; 0 is the primary model. */
export type UsedModel = { readonly model: Model; readonly access: ModelAccess; readonly priority: number };

type Models = (id: string) => Model | undefined;

/**
 * Returns the model with this id if the tenant can use it at present. Otherwise returns the first usable model of its
 * failover chain, whose models can have failover chains, too; undefined if none is usable. Each model is tried at most
 * once.
 */
const usableFor = (id: string, tenant_id: string, models: Models, tried: Set<string>): Model | undefined => {
  if (tried.has(id)) return undefined;
  tried.add(id);
  const model = models(id);
  if (!model) return undefined;
  if (isUsable(model, tenant_id)) return model;
  for (const next of model.failover_chain) {
    const found = usableFor(next, tenant_id, models, tried);
    if (found) return found;
  }
  return undefined;
};

/**
 * Returns the models that an agent of this tenant uses. Each model in the agent's chain that the tenant cannot use is
 * replaced by its failover model. No model occurs twice: a failover model that is in the agent's chain anyway is listed
 * once, with the access that it has in that chain.
 */
export const modelsAfterFailover = (chain: readonly AgentModel[], tenant_id: string, models: Models): UsedModel[] => {
  const used = new Map<string, { model: Model; access: ModelAccess }>();
  for (const { model_id, access } of chain) {
    const model = usableFor(model_id, tenant_id, models, new Set());
    if (!model || used.has(model.id)) continue;
    used.set(model.id, { model, access: chain.find((link) => link.model_id === model.id)?.access ?? access });
  }
  return [...used.values()].map((one, priority) => ({ ...one, priority }));
};
