import type { DeliveryEvent } from '../../domain/deliveries/delivery.ts';
import type { AuditOf } from '../audit-record.ts';

export const deliveryAudit = {
  WebhookAccepted: { summary: 'accepted a delivery for the agent {agent}', activity: 'create' },
  WebhookBlocked: { summary: 'blocked a delivery for the agent {agent}: {reason}', activity: 'update' },
  SkillWebhookCalled: { summary: 'accepted a call for the agent {agent}', activity: 'create' },
  SkillWebhookBlocked: { summary: 'blocked a call for the agent {agent}: {reason}', activity: 'update' },
  CronJobTriggered: { summary: 'called the agent {agent} for a cron job', activity: 'create' },
  BenchmarkRunTriggered: { summary: 'sent a benchmark run to the agent {agent}', activity: 'create' },
  MailReceived: { summary: 'received mail to the agent {agent}', activity: 'create' },
  MailBlocked: { summary: 'blocked mail to the agent {agent}: {reason}', activity: 'update' },
  WebhookHeld: { summary: 'held a delivery for the agent {agent}: {reason}', activity: 'create' },
  SkillWebhookHeld: { summary: 'held a call for the agent {agent}: {reason}', activity: 'create' },
  MailHeld: { summary: 'held mail to the agent {agent}: {reason}', activity: 'create' },
  HeldDeliveryExpired: { summary: 'gave up a delivery that was held for seven days', activity: 'update', severity: 'low' },
  WebhookRedeliveryDiffered: { summary: 'received a redelivery whose body differs from the first one', activity: 'other', severity: 'low' },
  DeliveryReleased: {
    summary: 'released a blocked or held delivery to the agent {agent}: {reason}',
    summaryForPlatform: 'handed on a held delivery to the agent {agent}',
    activity: 'update',
    severity: 'low',
  },
  DeliveryRequeued: { summary: 'queued a delivery again for the agent {agent}', activity: 'update' },
} satisfies AuditOf<DeliveryEvent>;
