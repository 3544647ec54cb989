import type { AccessRefusalEvent } from '../../domain/audit/access-refusal.ts';
import type { AuditOf } from '../audit-record.ts';

export const accessRefusalAudit = {
  AccessRefused: { summary: 'was refused {method} {path}', activity: 'other', severity: 'medium', refused: true },
  AccessRefusalsCounted: {
    summary: 'counted {count} further refused requests of one caller',
    activity: 'other',
    severity: 'medium',
    refused: true,
  },
} satisfies AuditOf<AccessRefusalEvent>;
