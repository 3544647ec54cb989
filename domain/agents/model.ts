import type { Recorded } from '../event.ts';
import { slugTaken } from '../refusal.ts';

export const category = 'model';
export const platform = true;

export const MODEL_STATUSES = ['active', 'disabled', 'experimental', 'deprecated'] as const;
export type ModelStatus = (typeof MODEL_STATUSES)[number];

export type ModelFields = {
  provider: string;
  slug: string;
  name: string;
  available_to_all_tenants: boolean;
  config: Record<string, unknown>;
  description: string | null;
  failover_chain: readonly string[];
  is_free: boolean;
  pricing: Record<string, unknown>;
  status: ModelStatus;
};
export type ModelEvent = { type: 'ModelRegistered'; data: ModelFields };
export type Model = Omit<ModelFields, 'status'> & { status: 'absent' | ModelStatus; id: string; created_at: string; updated_at: string };

export const initial: Model = {
  status: 'absent',
  id: '',
  provider: '',
  slug: '',
  name: '',
  available_to_all_tenants: true,
  config: {},
  description: null,
  failover_chain: [],
  is_free: false,
  pricing: {},
  created_at: '',
  updated_at: '',
};

export const evolve = (model: Model, event: Recorded<ModelEvent>): Model => ({
  ...model,
  ...event.data,
  id: event.id,
  created_at: event.at,
  updated_at: event.at,
});

/** Registers a model. @throws Refusal slug_taken if the provider has a model with this slug */
export const register =
  (fields: ModelFields) =>
  (model: Model): ModelEvent[] => {
    if (model.status !== 'absent') throw slugTaken(`The provider ${fields.provider} already has a model ${fields.slug}`);
    return [{ type: 'ModelRegistered', data: fields }];
  };

/** Whether every tenant may use the model for its agents. */
export const isUsable = (model: Model): boolean =>
  model.status !== 'absent' && model.status !== 'disabled' && model.available_to_all_tenants;
