import type { ReplayJobEvent } from '../../domain/deliveries/replay-job.ts';
import type { AuditOf } from '../audit-record.ts';

export const replayJobAudit = {
  DeliveriesReplayRequested: { summary: 'requested to send deliveries again', activity: 'create' },
  DeliveriesReplayAdvanced: { summary: 'sent deliveries again: {done} so far', activity: 'update' },
  DeliveriesReplayFinished: { summary: 'finished sending deliveries again: {done} in all', activity: 'update' },
  DeliveriesReplayCancelled: { summary: 'cancelled sending deliveries again', activity: 'update' },
} satisfies AuditOf<ReplayJobEvent>;
