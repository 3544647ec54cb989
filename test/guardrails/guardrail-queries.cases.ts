import * as tried from '../../projections/guardrails/tried-deliveries.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { INTEGRATION, MIDDLE_TIME, TENANT } from '../fixtures/query-case.ts';

const TRIED = { tenant_id: TENANT, from: MIDDLE_TIME, to: '2026-09-01T00:00:00.000Z' } as const;

const queries: AreaCases['queries'] = {
  triedDeliveries: {
    'of an integration': {
      rows: 'page',
      run: (reads) => tried.triedDeliveries(reads, { ...TRIED, integration_id: INTEGRATION }, 200),
    },
    'of a tenant': { rows: 'tenant', run: (reads) => tried.triedDeliveries(reads, TRIED, 200) },
  },
};

export const cases: AreaCases = { queries };
