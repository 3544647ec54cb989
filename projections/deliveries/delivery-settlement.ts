import type { FailedAttempt, SettledDelivery } from '../../domain/runners/acknowledgement.ts';
import type { AttemptReport } from '../../domain/runners/attempt-report.ts';
import { redeliveryTime } from '../../domain/runners/redelivery-delay.ts';
import { type Change, patch } from '../projection.ts';
import { type Attempt, storedFailure } from './delivery-attempts.ts';
import { lastReportFields, MAX_STORED_REPORTS, type ReportEvent, type ReportedRow, storedReport } from './delivery-reports.ts';

/**
 * Returns the change that shows how a message ended. If it is not the delivery's last message, the status of the
 * delivery does not change.
 */
export const patchSettled = (
  tenant_id: string,
  { delivery_id, event_id, at, attempts, published_at }: SettledDelivery,
  outcome: Attempt['outcome'],
): Change => {
  const ending =
    outcome === 'acknowledged'
      ? { status: 'done', outcome: 'accepted', reason: null, acknowledged_at: at, failed_at: null }
      : { status: 'dead', outcome: 'dead', reason: outcome, failed_at: at };
  return patch(
    'deliveries',
    { tenant_id, id: delivery_id },
    { ...ending, unsettled: null, published_at: published_at ?? null },
    {
      ifEqual: { message_id: event_id },
      items: { attempts: [{ event_id, at, outcome, count: attempts, published_at: published_at ?? null }] },
    },
  );
};

/**
 * Returns the change that adds a failed attempt. The status does not change, because the broker sends the message
 * again.
 */
export const patchFailed = (tenant_id: string, failure: FailedAttempt): Change =>
  patch(
    'deliveries',
    { tenant_id, id: failure.delivery_id },
    { failed_at: failure.at, retry_at: redeliveryTime(failure.at, failure.attempts) },
    { ifEqual: { message_id: failure.event_id }, items: { failures: [storedFailure(failure)] } },
  );

/** Returns the change that adds why an attempt failed, as the runner has reported it. */
export const patchReported = (event: ReportEvent, report: AttemptReport): Change =>
  patch(
    'deliveries',
    { tenant_id: event.tenant, id: report.delivery_id },
    {},
    {
      items: { reports: [storedReport(report, event)] },
      maxItems: MAX_STORED_REPORTS,
      computed: (row) => lastReportFields(row as ReportedRow),
    },
  );
