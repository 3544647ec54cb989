import type { CronJob, CronJobEvent } from './cron-job.ts';

/** Encrypts the same headers with another data key. Does nothing if the stored text is no longer `sealed`. */
export const resealHeaders =
  (sealed: string, sealed_headers: string) =>
  (job: CronJob): CronJobEvent[] =>
    job.sealed_headers === sealed ? [{ type: 'CronJobHeadersResealed', data: { sealed_headers } }] : [];
