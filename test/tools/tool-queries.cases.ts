import * as tool from '../../projections/tools/tool.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { pages, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  toolPage: pages((reads, window) => tool.toolPage(reads, TENANT, window)),
};

export const cases: AreaCases = { queries };
