import type { Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ModelListRead, models, table } from './model.ts';

export const MODEL_SORTS = sortFields(table, ModelListRead);

type Window = Pick<PageQuery, 'sort' | 'limit' | 'cursor'>;
const from = { projection: models.name, table };

/** The models open to every tenant, without config. */
export const modelsOpenToTenant = (reads: Reads, window: Window): Promise<Page> =>
  reads.page({ from, doc: 'list_doc', where: [{ column: 'available_to_all_tenants', op: '=', value: true }], ...window });

export const allModels = (reads: Reads, window: Window): Promise<Page> => reads.page({ from, where: [], ...window });
