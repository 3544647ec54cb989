import { unexpiredKeysOf } from '../../projections/runners/runner-credential.queries.ts';
import * as attention from '../../projections/tenants/attention.queries.ts';
import * as figures from '../../projections/tenants/overview-figures.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, INTEGRATION, MIDDLE_TIME, type QueryCase, ROW, TENANT } from '../fixtures/query-case.ts';

const [FROM, TO] = ['2026-05-30T00:00:00.000Z', MIDDLE_TIME];
const PERIOD = { tenant_id: TENANT, from: FROM, to: TO } as const;
const ALL = { tenant_id: TENANT, agent_ids: undefined } as const;
const SOME = { tenant_id: TENANT, agent_ids: [AGENT, 'a27'] } as const;

const ofAll = (run: QueryCase['run']): Readonly<Record<string, QueryCase>> => ({ call: { rows: 'tenant', run } });
const ofBoth = (run: (reads: Parameters<QueryCase['run']>[0], of: typeof ALL | typeof SOME) => unknown) => ({
  'of a tenant': { rows: 'tenant', run: (reads) => run(reads, ALL) } satisfies QueryCase,
  'of some agents': { rows: 'tenant', run: (reads) => run(reads, SOME) } satisfies QueryCase,
});

const queries: AreaCases['queries'] = {
  acceptedByHour: ofBoth((reads, of) => figures.acceptedByHour(reads, { ...of, from: FROM, to: TO })),
  givenUpByHour: ofBoth((reads, of) => figures.givenUpByHour(reads, { ...of, given_up_from: FROM })),
  countGivenUp: ofBoth((reads, of) => figures.countGivenUp(reads, { ...of, given_up_from: FROM })),
  countUpToMax: ofAll((reads) => figures.countUpToMax(reads, { tenant_id: TENANT, from: FROM })),
  openCounts: ofBoth((reads, of) => figures.openCounts(reads, { ...of, since: FROM })),
  costsByHour: ofAll((reads) => figures.costsByHour(reads, PERIOD)),
  hasAcknowledged: ofBoth(figures.hasAcknowledged),
  givenUpSince: ofBoth((reads, of) => attention.givenUpSince(reads, { ...of, given_up_from: FROM })),
  blockedSince: ofBoth((reads, of) => attention.blockedSince(reads, { ...of, from: FROM, before: TO, at_least: 10 })),
  stoppedDeliveries: { call: { rows: 'page', run: (reads) => attention.stoppedDeliveries(reads, TENANT, [ROW]) } },
  failingAgents: ofBoth((reads, of) => attention.failingAgents(reads, { ...of, at_least: 3 })),
  namesOf: { call: { rows: 'page', run: (reads) => attention.namesOf(reads, TENANT, { agents: [AGENT], integrations: [INTEGRATION] }) } },
  limitedAgents: ofBoth(attention.limitedAgents),
  missedRuns: ofBoth((reads, of) => attention.missedRuns(reads, { ...of, from: FROM })),
  overlappingSecrets: ofAll((reads) => attention.overlappingSecrets(reads, TENANT, FROM)),
  silentIntegrations: ofAll((reads) => attention.silentIntegrations(reads, { tenant_id: TENANT, after: FROM, before: TO })),
  expiringKeys: ofAll((reads) => attention.expiringKeys(reads, PERIOD)),
  unexpiredKeysOf: ofAll((reads) => unexpiredKeysOf(reads, { tenant_id: TENANT, agent_ids: [AGENT], at: FROM })),
};

export const cases: AreaCases = { queries };
