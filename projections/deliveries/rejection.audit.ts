import type { RejectionEvent } from '../../domain/deliveries/rejection.ts';
import type { AuditOf } from '../audit-record.ts';

export const rejectionAudit = {
  WebhookRejected: { summary: 'rejected a delivery for the agent {agent}: {reason}', activity: 'other', severity: 'low', refused: true },
  WebhookRejectionsCounted: { summary: 'counted {count} further rejected deliveries', activity: 'other', severity: 'low', refused: true },
} satisfies AuditOf<RejectionEvent>;
