import type { SuperAdminReadEvent } from '../../domain/audit/super-admin-read.ts';
import type { AuditOf } from '../audit-record.ts';

export const superAdminReadAudit = {
  SuperAdminRead: { summary: 'read data of the tenant as super-admin: {what}', activity: 'read', severity: 'medium' },
} satisfies AuditOf<SuperAdminReadEvent>;
