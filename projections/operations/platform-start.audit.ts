import type { AuditOf } from '../audit-record.ts';

export const platformStartAudit = {
  PlatformStarted: { summary: 'started for the first time', activity: 'other' },
} satisfies AuditOf<{ type: 'PlatformStarted'; data: { tenant_id: string } }>;
