import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ModelListRead, table } from './model.ts';

export const MODEL_SORTS = sortFields(table, ModelListRead);

const openModels = defineList({ table, doc: 'list_doc' }, (db) =>
  db.selectFrom('models.models as model').where('model.available_to_all_tenants', '=', true),
);

/** Returns a page of the models that every tenant may use, without their configuration, as ModelListRead. */
export const modelsOpenToTenant = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(openModels, {}, window);

const everyModel = defineList({ table }, (db) => db.selectFrom('models.models as model'));

/** Returns a page of all models of the platform, as ModelRead. */
export const allModels = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(everyModel, {}, window);
