import type { KeyRotationEvent } from '../../domain/operations/key-rotation.ts';
import type { AuditOf } from '../audit-record.ts';

export const keyRotationAudit = {
  MasterKeyRotationStarted: { summary: 'started to replace the master key {from_kid} by {to_kid}', activity: 'update', severity: 'low' },
  MasterKeyRotationConfirmed: { summary: 'confirmed that every machine has the master key {to_kid}', activity: 'update', severity: 'low' },
  MasterKeyRotationCompleted: { summary: 'replaced the master key {from_kid} by {to_kid}', activity: 'update', severity: 'low' },
  DataKeyRotationStarted: { summary: 'started to replace the data key of the tenant {tenant_id}', activity: 'update' },
  DataKeyRotationCompleted: { summary: 'replaced the data key of the tenant {tenant_id} by {kid}', activity: 'update' },
} satisfies AuditOf<KeyRotationEvent>;
