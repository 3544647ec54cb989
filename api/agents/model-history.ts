import * as Model from '../../domain/agents/model.ts';
import { ModelRead } from '../../projections/agents/model.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

/**
 * The data that the history of a model shows. `open_to` maps each tenant that may use the model to the time at which
 * the model was opened to the tenant.
 */
export const modelHistory = {
  aggregate: Model,
  path: '/admin/models/:model_id',
  permit: 'platform',
  noun: 'model',
  fieldsOf: (model) => ModelRead.parse(model),
  entryMaps: { open_to: { of: ({ open_to }) => open_to, show: (since) => since } },
} as const satisfies HistorySubject<Model.Model, Model.ModelEvent>;

export const modelHistoryOperations = historyOperationsOf('Model', modelHistory);
