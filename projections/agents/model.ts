import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { Id25 } from '../../domain/id.ts';
import { insert, type Projection } from '../projection.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields, type Table } from '../table.ts';

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

export const table: Table = {
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
};

/** The models that are registered on the platform. */
export const models: Projection<Model.ModelEvent> = {
  name: 'models',
  version: 2,
  categories: ['model'],
  tables: [table],
  on: {
    ModelRegistered: (event) => insert('models', { ...Model.evolve(Model.initial, event) }),
  },
};

export const MODEL_SORTS = sortFields(table, ModelListRead);

const from = { projection: models.name, table };

/** Returns a page of the models that every tenant may use, without their configuration. */
export const modelsOpenToTenant = (reads: Reads, window: PageWindow): Promise<Page> =>
  reads.page({ from, doc: 'list_doc', where: [{ column: 'available_to_all_tenants', op: '=', value: true }], ...window });

/** Returns a page of all models of the platform. */
export const allModels = (reads: Reads, window: PageWindow): Promise<Page> => reads.page({ from, where: [], ...window });
