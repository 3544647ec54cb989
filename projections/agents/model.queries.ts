import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ModelListRead, table } from './model.ts';

export const MODEL_SORTS = sortFields(table, ModelListRead);

const openModels = defineList({ table, doc: 'list_doc' }, (db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom('models.models as model')
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb('model.available_to_all_tenants', '=', true),
        exists(
          selectFrom('models.model_tenants as opened')
            .where('opened.tenant_id', '=', tenant_id)
            .whereRef('opened.model_id', '=', 'model.id'),
        ),
      ]),
    ),
);

/** Returns a page of the models that a tenant may use, without their configuration, as ModelListRead. */
export const modelsOpenToTenant = (reads: Reads, tenant_id: string, window: PageWindow): Promise<Page> =>
  reads.page(openModels, { tenant_id }, window);

const everyModel = defineList({ table }, (db) => db.selectFrom('models.models as model'));

export const allModels = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(everyModel, {}, window);
