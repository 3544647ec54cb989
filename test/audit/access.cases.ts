import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/audit-logs                                   tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/export                            tenant:audit:read
GET    /tenant/{tenant_id}/changes                                      tenant:read but guests
GET    /tenant/{tenant_id}/audit-logs/facets                            tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/heads                             tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/keys                              tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/proof                             tenant:audit:read
GET    /tenant/{tenant_id}/events                                       tenant:audit:read
GET    /tenant/{tenant_id}/events/{event_id}                            tenant:audit:read
`,
  withoutAsOf: {
    listAuditKeys: 'the keys of the platform',
    readAuditFacets: 'counts of the entries of the audit log, which never change',
    listAuditHeads: 'heads are signed once and never change',
    getAuditProof: 'the proof of an event never changes',
    listEvents: 'the events up to a position never change',
    readEvent: 'an event never changes',
    listAuditLogs: 'the log itself: `to` ends it',
    exportAuditLogs: 'the log itself: `to_position` ends it',
    streamTenantChanges: 'what changes from now on',
  },
};
