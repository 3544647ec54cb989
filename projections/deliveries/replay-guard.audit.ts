import type { BodyEvent } from '../../domain/deliveries/replay-guard.ts';
import type { AuditOf } from '../audit-record.ts';

export const replayGuardAudit = {
  WebhookBodySeen: { summary: 'recorded the body of a delivery', activity: 'read' },
} satisfies AuditOf<BodyEvent>;
