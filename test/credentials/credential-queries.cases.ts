import * as request from '../../projections/credentials/credential-request.queries.ts';
import * as identity from '../../projections/credentials/linked-identity.queries.ts';
import * as signIn from '../../projections/identity/sign-in.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, newest, pages, single, TENANT, USER } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  credentialRequestPage: pages((reads, window) =>
    request.credentialRequestPage(reads, { tenant_id: TENANT, agent_id: AGENT }, '2026-01-02T00:00:00.000Z', window),
  ),
  identityPage: {
    ...pages((reads, window) => identity.identityPage(reads, { tenant_id: TENANT, agent_ids: undefined }, window)),
    'of agents': {
      rows: 'tenant',
      run: (reads) => identity.identityPage(reads, { tenant_id: TENANT, agent_ids: [AGENT] }, newest),
    },
  },
  signInPage: {
    ...pages((reads, window) => signIn.signInPage(reads, { user_id: USER, at: '2026-06-01T00:00:00.000Z' }, window)),
    'by an API key': {
      rows: 'page',
      run: (reads) => signIn.signInPage(reads, { user_id: USER, at: '2026-06-01T00:00:00.000Z', key_id: 'text 7' }, newest),
    },
  },
  linkedProvidersOf: { call: { rows: 'tenant', run: (reads) => identity.linkedProvidersOf(reads, TENANT, AGENT) } },
  identitiesDueAt: single((reads) => identity.identitiesDueAt(reads, '2026-01-02T00:00:00.000Z')),
};

export const cases: AreaCases = { queries };
