import { PLATFORM } from '../../domain/event.ts';
import * as audit from '../../projections/audit/audit-log.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { MIDDLE, MIDDLE_TIME, ROW, single, TENANT } from '../fixtures/query-case.ts';

const EXPORTED = { tenant_id: TENANT, until: MIDDLE } as const;

const queries: AreaCases['queries'] = {
  auditCount: single((reads) => audit.auditCount(reads, TENANT)),
  positionAt: {
    'of a tenant': { rows: 'page', run: (reads) => audit.positionAt(reads, TENANT, MIDDLE_TIME) },
    'of the platform': { rows: 'page', run: (reads) => audit.positionAt(reads, PLATFORM, MIDDLE_TIME) },
  },
  positionOfEvent: single((reads) => audit.positionOfEvent(reads, ROW)),
  describedEvent: single((reads) => audit.describedEvent(reads, ROW)),
  actorNamesOf: single((reads) => audit.actorNamesOf(reads, ROW)),
  positionOfTenantEvent: single((reads) => audit.positionOfTenantEvent(reads, TENANT, ROW)),
  latestEntry: {
    'of all': { rows: 'page', run: (reads) => audit.latestEntry(reads, TENANT) },
    'until a position': { rows: 'page', run: (reads) => audit.latestEntry(reads, TENANT, MIDDLE) },
  },
  entriesUntil: {
    'of all': { rows: 'page', run: (reads) => audit.entriesUntil(reads, { ...EXPORTED, filter: {} }).next() },
    // The query reads and skips the rows from before the period and those with another action.
    'of a period and an action': {
      rows: 'tenant',
      run: (reads) =>
        audit.entriesUntil(reads, { ...EXPORTED, filter: { action: 'text 7', from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME } }).next(),
    },
  },
};

export const cases: AreaCases = { queries };
