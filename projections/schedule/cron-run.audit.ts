import type { CronRunEvent } from '../../domain/schedule/cron-run.ts';
import type { AuditOf } from '../audit-record.ts';

export const cronRunAudit = {
  CronFired: { summary: 'fired the cron job {job_id}', activity: 'other' },
  CronSuppressed: { summary: 'suppressed an occurrence of the cron job {job_id}: {reason}', activity: 'other' },
  CronMissed: { summary: 'missed an occurrence of the cron job {job_id}', activity: 'other' },
  CronOccurrenceSkipped: { summary: 'skipped an occurrence of the cron job {job_id}', activity: 'other' },
  CronRunRequested: { summary: 'requested a run of the cron job {job_id}', activity: 'create' },
  CronMessageSent: { summary: 'sent a message for a run of the cron job {job_id}', activity: 'create' },
  CronAttemptFailed: { summary: 'failed an attempt of a run of the cron job {job_id}', activity: 'update' },
  CronSucceeded: { summary: 'completed a run of the cron job {job_id}', activity: 'other' },
  CronExhausted: { summary: 'failed the last attempt of a run of the cron job {job_id}', activity: 'other' },
} satisfies AuditOf<CronRunEvent>;
