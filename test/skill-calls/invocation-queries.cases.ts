import type { PageWindow } from '../../projections/read-model.ts';
import * as invocation from '../../projections/skill-calls/invocation.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { byColumn, MIDDLE_TIME, single, TENANT } from '../fixtures/query-case.ts';

const CALLED = { tenant_id: TENANT, skill_id: 'k07' };
const calledPage = (window: PageWindow, filter = {}) => single((reads) => invocation.invocationPage(reads, CALLED, filter, window)).call!;

const queries: AreaCases['queries'] = {
  invocationPage: {
    'first page': calledPage(byColumn('at')),
    'next page': calledPage(byColumn('at', true, MIDDLE_TIME)),
    'with every filter': calledPage(byColumn('at'), { outcome: 'accepted', from: '2026-05-01T00:00:00Z', to: MIDDLE_TIME }),
  },
};

export const cases: AreaCases = { queries };
