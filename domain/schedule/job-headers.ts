import type { CronJob, CronJobEvent } from './cron-job.ts';

/**
 * Replaces the encrypted headers with the same headers encrypted with another data key. Does nothing if the stored text
 * no longer equals `sealed`.
 */
export const resealHeaders =
  (sealed: string, sealed_headers: string) =>
  (job: CronJob): CronJobEvent[] =>
    job.sealed_headers === sealed ? [{ type: 'CronJobHeadersResealed', data: { sealed_headers } }] : [];
