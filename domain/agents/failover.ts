import type { AgentModel, ModelAccess } from './agent.ts';
import { isUsable, type Model } from './model.ts';

/** Priority 0 is the primary model. */
export type UsedModel = { readonly model: Model; readonly access: ModelAccess; readonly priority: number };

type Models = (id: string) => Model | undefined;

/** Falls back to the first usable model of the failover chain, recursively; undefined if none is usable. Tries each model once. */
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

/** Replaces each model that the tenant cannot use by its failover model. No model occurs twice; the access in the agent's chain wins. */
export const modelsAfterFailover = (chain: readonly AgentModel[], tenant_id: string, models: Models): UsedModel[] => {
  const used = new Map<string, { model: Model; access: ModelAccess }>();
  for (const { model_id, access } of chain) {
    const model = usableFor(model_id, tenant_id, models, new Set());
    if (!model || used.has(model.id)) continue;
    used.set(model.id, { model, access: chain.find((link) => link.model_id === model.id)?.access ?? access });
  }
  return [...used.values()].map((one, priority) => ({ ...one, priority }));
};
