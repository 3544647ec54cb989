import type { CronJob, CronJobEvent } from './cron-job.ts';

/** Stores the same secret headers, encrypted with another data key, unless they are not `sealed` any more. */
export const resealHeaders =
  (sealed: string, sealed_headers: string) =>
  (job: CronJob): CronJobEvent[] =>
    job.sealed_headers === sealed ? [{ type: 'CronJobHeadersResealed', data: { sealed_headers } }] : [];
