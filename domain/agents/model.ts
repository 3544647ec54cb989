import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';
import { Refusal, slugTaken } from '../refusal.ts';

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

/** Null clears or resets a field; for `name` and `status`, null means no change. */
export type ModelChanges = { [Name in keyof Omit<ModelFields, 'provider' | 'slug'>]?: ModelFields[Name] | null | undefined };

export type ModelEvent =
  | { type: 'ModelRegistered'; data: ModelFields }
  | { type: 'ModelUpdated'; data: Partial<Omit<ModelFields, 'provider' | 'slug' | 'status'>> }
  | { type: 'ModelStatusChanged'; data: { status: ModelStatus } }
  | { type: 'ModelOpenedToTenant'; data: { tenant_id: string } }
  | { type: 'ModelClosedToTenant'; data: { tenant_id: string } };

export type Model = Omit<ModelFields, 'status'> & {
  status: 'absent' | ModelStatus;
  id: string;
  /** Tenants that may use a model that is not available to all, with the time at which it was opened to them (RFC 3339). */
  open_to: ById<string>;
  created_at: string;
  updated_at: string;
};

/** The values that null in a change sets. */
const defaults = { available_to_all_tenants: true, config: {}, description: null, failover_chain: [], is_free: false, pricing: {} };

export const initial: Model = {
  status: 'absent',
  id: '',
  provider: '',
  slug: '',
  name: '',
  ...defaults,
  open_to: {},
  created_at: '',
  updated_at: '',
};

const applyEvent = (model: Model, { id, type, data, at }: Recorded<ModelEvent>, transient?: Transient): Partial<Model> => {
  switch (type) {
    case 'ModelRegistered':
      return { ...data, id, created_at: at };
    case 'ModelUpdated':
    case 'ModelStatusChanged':
      return data;
    case 'ModelOpenedToTenant':
      return { open_to: withEntry(model.open_to, data.tenant_id, at, transient) };
    case 'ModelClosedToTenant':
      return { open_to: withoutEntry(model.open_to, data.tenant_id, transient) };
  }
};

export const evolve = (model: Model, event: Recorded<ModelEvent>, transient?: Transient): Model => ({
  ...model,
  ...applyEvent(model, event, transient),
  updated_at: event.at,
});

/** @throws Refusal slug_taken if the provider already has a model with this slug */
export const register =
  (fields: ModelFields) =>
  (model: Model): ModelEvent[] => {
    if (model.status !== 'absent') throw slugTaken(`The provider ${fields.provider} already has a model ${fields.slug}`);
    return [{ type: 'ModelRegistered', data: fields }];
  };

/** @throws Refusal not_found */
export const assertExists = (model: Model): void => {
  if (model.status === 'absent') throw new Refusal('not_found', 'There is no such model');
};

/** A change of the status gets its own event. @throws Refusal not_found */
export const update =
  (changes: ModelChanges) =>
  (model: Model): ModelEvent[] => {
    assertExists(model);
    const { status, ...fields } = changedFields(model, applyResets(changes, defaults));
    const updated: ModelEvent[] = Object.keys(fields).length > 0 ? [{ type: 'ModelUpdated', data: fields }] : [];
    return status ? [...updated, { type: 'ModelStatusChanged', data: { status } }] : updated;
  };

/** Has an effect while the model is not available to all tenants. @throws Refusal not_found */
export const openToTenant =
  (tenant_id: string) =>
  (model: Model): ModelEvent[] => {
    assertExists(model);
    return model.open_to[tenant_id] ? [] : [{ type: 'ModelOpenedToTenant', data: { tenant_id } }];
  };

/** Reverses `openToTenant`. @throws Refusal not_found */
export const closeToTenant =
  (tenant_id: string) =>
  (model: Model): ModelEvent[] => {
    assertExists(model);
    return model.open_to[tenant_id] ? [{ type: 'ModelClosedToTenant', data: { tenant_id } }] : [];
  };

export const isOpenTo = (model: Model, tenant_id: string): boolean =>
  model.status !== 'absent' && (model.available_to_all_tenants || model.open_to[tenant_id] !== undefined);

/** Whether a tenant may add the model to the chains of its agents. */
export const isUsable = (model: Model, tenant_id: string): boolean => isOpenTo(model, tenant_id) && model.status !== 'disabled';
