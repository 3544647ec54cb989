import * as tenant from '../../projections/tenants/tenant.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { MIDDLE_TIME, newest, pages, single, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  tenantPage: {
    ...pages((reads, window) => tenant.tenantPage(reads, undefined, window)),
    'with a part of the name': { rows: 'page', run: (reads) => tenant.tenantPage(reads, 'r050007', newest) },
  },
  tenantsDueAt: { call: { rows: 'page', run: (reads) => tenant.tenantsDueAt(reads, MIDDLE_TIME) } },
  tenantNames: { call: { rows: 'page', run: (reads) => tenant.tenantNames(reads, [TENANT]) } },
  lastActiveAt: single((reads) => tenant.lastActiveAt(reads, TENANT)),
};

export const cases: AreaCases = { queries };
