import * as credential from '../../projections/runners/runner-credential.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, MIDDLE_TIME, pages, single, TENANT } from '../fixtures/query-case.ts';

const OF_AGENT = { tenant_id: TENANT, agent_id: AGENT };

const queries: AreaCases['queries'] = {
  runnerCredentialPage: pages((reads, window) => credential.runnerCredentialPage(reads, { tenant_id: TENANT, agent_id: AGENT }, window)),
  unexpiredKeys: single((reads) => credential.unexpiredKeys(reads, OF_AGENT, MIDDLE_TIME)),
  keysBefore: single((reads) => credential.keysBefore(reads, OF_AGENT, MIDDLE_TIME)),
};

export const cases: AreaCases = { queries };
