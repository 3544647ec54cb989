export type ModelAccess = 'full' | 'read_only';

/** `since`: when the model was added to the chain; null if this event adds it. */
export type ChainLink = { model_id: string; access: ModelAccess; since: string | null };

export type AgentModel = { model_id: string; access: ModelAccess; created_at: string };

/** A model that the event adds gets `at`, the time of the event, as its `created_at`. */
export const modelsOf = (models: readonly ChainLink[], at: string): AgentModel[] =>
  models.map(({ since, ...model }) => ({ ...model, created_at: since ?? at }));
