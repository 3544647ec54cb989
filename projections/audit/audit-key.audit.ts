import type { AuditKeyEvent } from '../../domain/audit/audit-key.ts';
import type { AuditOf } from '../audit-record.ts';

export const auditKeyAudit = {
  AuditKeyCreated: { summary: 'created the key {resource}, which signs the heads of the audit trees', activity: 'create' },
  AuditKeyResealed: { summary: 'encrypted the audit key {key_id} with a new data key', activity: 'update' },
} satisfies AuditOf<AuditKeyEvent>;
