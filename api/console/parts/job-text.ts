import type { ReplyOf } from '../../http/ask.ts';
import type { cronJobOperations } from '../../schedule/cron-job.ts';

type Job = ReplyOf<(typeof cronJobOperations)['getCronJob']>;

/** Returns the schedule of a job in words: `0 9 * * MON in Europe/Berlin`. */
export const scheduleText = ({ kind, fire_at, cron_expr, interval_minutes, schedule_type, start_time, timezone }: Job): string => {
  const zone = timezone ?? 'UTC';
  if (kind === 'one_shot') return `once, at ${fire_at}`;
  if (schedule_type === 'daily') return `every day at ${start_time} in ${zone}`;
  if (cron_expr !== null) return `${cron_expr} in ${zone}`;
  return interval_minutes === 1 ? 'every minute' : `every ${interval_minutes} minutes`;
};
