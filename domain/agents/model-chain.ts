export type ModelAccess = 'full' | 'read_only';

/**
 * One model in the model chain that an event contains. `since` is the time at which it was added to the chain; null if
 * this event adds it.
 */
export type ChainLink = { model_id: string; access: ModelAccess; since: string | null };

export type AgentModel = { model_id: string; access: ModelAccess; created_at: string };

/**
 * Converts the model chain in an event to the agent's models. `at` is the time of the event. It becomes the
 * `created_at` of the models that this event adds to the chain.
 */
export const modelsOf = (models: readonly ChainLink[], at: string): AgentModel[] =>
  models.map(({ since, ...model }) => ({ ...model, created_at: since ?? at }));
