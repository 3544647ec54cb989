import { omit } from '../../domain/omit.ts';
import type { CronJobEvent } from '../../domain/schedule/cron-job.ts';
import type { AuditOf } from '../audit-record.ts';
import type { Row } from '../projection.ts';

const jobFields = (data: Extract<CronJobEvent, { type: 'CronJobUpdated' }>['data']): Row => omit(data, 'sealed_headers', 'next_fire_at');

export const cronJobAudit = {
  CronJobCreated: { summary: 'created the cron job {resource}', activity: 'create', first: true, fields: jobFields },
  CronJobUpdated: { summary: 'changed {fields} of the cron job {resource}', activity: 'update', fields: jobFields },
  CronJobHeadersResealed: { summary: 'encrypted the secret headers of the cron job {resource} with a new data key', activity: 'update' },
  CronJobPaused: { summary: 'paused the cron job {resource}', activity: 'update', fields: () => ({ status: 'paused' }) },
  CronJobResumed: { summary: 'resumed the cron job {resource}', activity: 'update', fields: () => ({ status: 'active' }) },
  CronJobDeleted: {
    summary: 'deleted the cron job {resource}',
    activity: 'delete',
    severity: 'low',
    fields: () => ({ status: 'archived' }),
  },
} satisfies AuditOf<CronJobEvent>;
