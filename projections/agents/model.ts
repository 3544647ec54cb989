import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { Id25 } from '../../domain/id.ts';
import { insert, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';

/** A model as tenants see it, without its configuration. */
export const ModelListRead = z
  .object({
    id: Id25,
    provider: z.string(),
    slug: z.string(),
    name: z.string(),
    available_to_all_tenants: z.boolean(),
    description: z.string().nullable(),
    failover_chain: z.array(z.string()),
    is_free: z.boolean(),
    pricing: z.record(z.string(), z.unknown()),
    status: z.enum(Model.MODEL_STATUSES),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'ModelListRead' });

export const ModelRead = ModelListRead.extend({ config: z.record(z.string(), z.unknown()) }).meta({ id: 'ModelRead' });

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

/** The models that are registered on the platform. */
export const models = {
  name: 'models',
  version: 2,
  categories: ['model'],
  tables: [table],
  on: {
    ModelRegistered: (event) => insert('models', { ...Model.evolve(Model.initial, event) }),
  },
} as const satisfies Projection<Model.ModelEvent>;
