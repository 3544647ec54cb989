import * as account from '../../projections/identity/allowed-account.queries.ts';
import * as apiKey from '../../projections/identity/api-key.queries.ts';
import * as user from '../../projections/identity/user.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, newest, pages, single, TENANT, USER } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  allowedAccountPage: pages(account.allowedAccountPage),
  lastKeyUses: single((reads) => apiKey.lastKeyUses(reads, { tenant_id: TENANT, user_ids: ['u1'] })),
  keyPage: {
    ...pages((reads, window) => apiKey.keyPage(reads, { kind: 'tenant', tenant_id: TENANT }, window)),
    'of the platform': { rows: 'page', run: (reads) => apiKey.keyPage(reads, { kind: 'platform' }, newest) },
    'of a user': {
      rows: 'page',
      run: (reads) => apiKey.keyPage(reads, { kind: 'tenant', tenant_id: TENANT, owner_id: 'u1' }, newest),
    },
    'of an agent': {
      rows: 'page',
      run: (reads) => apiKey.keyPage(reads, { kind: 'runner', tenant_id: TENANT, agent_id: AGENT }, newest),
    },
  },
  userPage: {
    ...pages((reads, window) => user.userPage(reads, undefined, window)),
    'with a part of the name': { rows: 'page', run: (reads) => user.userPage(reads, 'r050007', newest) },
  },
  membershipPages: single((reads) => user.membershipPages(reads, USER).next()),
  membershipsOf: single((reads) => user.membershipsOf(reads, USER)),
};

export const cases: AreaCases = { queries };
