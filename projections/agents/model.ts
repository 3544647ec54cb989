import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

/** A model as tenants see it, without its configuration. */
export const ModelListRead = z
  .object({
    id: idOf('model'),
    provider: z.string().meta({ description: 'The company or service that runs the model', examples: ['anthropic'] }),
    slug: z.string().meta({ description: 'The unique name of the model at its provider', examples: ['claude-sonnet'] }),
    name: z.string().meta({ examples: ['Claude Sonnet'] }),
    available_to_all_tenants: z.boolean().meta({ description: 'Whether every tenant may use the model', examples: [true] }),
    description: z
      .string()
      .nullable()
      .meta({ description: 'What the model is good at', examples: [null] }),
    failover_chain: z
      .array(z.string())
      .meta({ description: 'The models that replace this one while it is disabled, in their order', examples: [[]] }),
    is_free: z.boolean().meta({ description: 'Whether its use costs nothing' }),
    pricing: z.record(z.string(), z.unknown()).meta({ description: 'The prices, as the platform describes them', examples: [{}] }),
    status: z.enum(Model.MODEL_STATUSES).meta({ description: '`disabled` models cannot be added to chains' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'ModelListRead' });

export const ModelRead = ModelListRead.extend({
  config: z.record(z.string(), z.unknown()).meta({ description: 'Settings for runners; tenants cannot read them', examples: [{}] }),
}).meta({ id: 'ModelRead' });

export const table = {
  name: 'models',
  key: ['id'],
  stream: 'model',
  columns: {
    id: 'text',
    name: 'text',
    provider: 'text',
    slug: 'text',
    status: 'text',
    is_free: 'boolean',
    available_to_all_tenants: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: ModelRead, list_doc: ModelListRead },
  indexes: [{ columns: ['created_at', 'id'] }],
} as const satisfies Table;

/** The tenants that may use a model although it is not available to all. */
const modelTenants = {
  name: 'model_tenants',
  key: ['tenant_id', 'model_id'],
  columns: { tenant_id: 'text', model_id: 'text' },
  docs: {},
} as const satisfies Table;

export const models = {
  name: 'models',
  version: 3,
  categories: ['model'],
  tables: [table, modelTenants],
  on: {
    ModelRegistered: (event) => {
      const row = omit(Model.evolve(Model.initial, event), 'open_to');
      return insert('models', row);
    },
    ModelUpdated: ({ id, at, data }) => patch('models', { id }, { ...data, updated_at: at }),
    ModelStatusChanged: ({ id, at, data }) => patch('models', { id }, { ...data, updated_at: at }),
    ModelOpenedToTenant: ({ id, at, data }) => [
      patch('models', { id }, { updated_at: at }),
      insert('model_tenants', { tenant_id: data.tenant_id, model_id: id }),
    ],
    ModelClosedToTenant: ({ id, at, data }) => [
      patch('models', { id }, { updated_at: at }),
      remove('model_tenants', { tenant_id: data.tenant_id, model_id: id }),
    ],
  },
} as const satisfies Projection<Model.ModelEvent>;
