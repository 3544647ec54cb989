import * as model from '../../projections/agents/model.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { pages, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  // For each page, the query reads all models that the tenant may use. There are few in practice, but 5,000 in the test
  // data.
  modelsOpenToTenant: pages((reads, window) => model.modelsOpenToTenant(reads, TENANT, window), 'tenant'),
  allModels: pages(model.allModels),
};

export const cases: AreaCases = { queries };
