import * as session from '../../projections/sessions/session.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, newest, pages, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  sessionPage: {
    ...pages((reads, window) => session.sessionPage(reads, { tenant_id: TENANT, agent_id: AGENT, status: undefined }, window)),
    'with a status': {
      rows: 'page',
      run: (reads) => session.sessionPage(reads, { tenant_id: TENANT, agent_id: AGENT, status: 'text 7' }, newest),
    },
  },
};

export const cases: AreaCases = { queries };
