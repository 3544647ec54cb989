import type { AuditExportEvent } from '../../domain/audit/audit-export.ts';
import type { AuditOf } from '../audit-record.ts';

export const auditExportAudit = {
  AuditExported: { summary: 'exported the audit log as {format}', activity: 'read', severity: 'low' },
} satisfies AuditOf<AuditExportEvent>;
