import * as CronJob from '../../domain/schedule/cron-job.ts';
import type { Headers } from '../../domain/schedule/request-headers.ts';
import type { SecretLocation, Secrets } from '../context.ts';

export const headersLocation = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: CronJob.category,
  id,
  field: 'headers',
});

export const openHeaders = async (open: Secrets['open'], { tenant_id, id, headers, sealed_headers }: CronJob.CronJob): Promise<Headers> => {
  if (sealed_headers === null) return headers;
  return { ...headers, ...(JSON.parse((await open(headersLocation(tenant_id, id), sealed_headers)).reveal()) as Headers) };
};
