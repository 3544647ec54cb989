import type { AcknowledgementEvent } from '../../domain/runners/acknowledgement.ts';
import type { AuditOf } from '../audit-record.ts';

export const acknowledgementAudit = {
  DeliveriesAcknowledged: { summary: 'recorded that the agent {agent} has processed deliveries', activity: 'update' },
  SessionMessagesSettled: { summary: 'recorded that the agent {agent} has processed messages of sessions', activity: 'update' },
  DeliveryAttemptFailed: { summary: 'recorded that the agent {agent} has refused deliveries', activity: 'update' },
  DeliveryDeadLettered: {
    summary: 'gave up the delivery {delivery_id} to the agent {agent} after {attempts} attempts',
    activity: 'update',
    severity: 'medium',
  },
} satisfies AuditOf<AcknowledgementEvent>;
