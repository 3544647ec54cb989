import type { AttemptReportEvent } from '../../domain/runners/attempt-report.ts';
import type { AuditOf } from '../audit-record.ts';

export const attemptReportAudit = {
  DeliveryAttemptsReported: { summary: 'reported why attempts of the agent {agent} failed', activity: 'update' },
} satisfies AuditOf<AttemptReportEvent>;
