import { cronWords } from './cron-words.ts';

/** The fields of a cron job, or of its form, that determine when it is due. */
export type Schedule = {
  readonly kind?: string | null;
  readonly schedule_type?: string | null;
  readonly cron_expr?: string | null;
  readonly interval_minutes?: number | null;
  readonly start_time?: string | null;
  readonly fire_at?: string | null;
  readonly timezone?: string | null;
};

/** Returns a schedule in words: `At 09:00, Monday to Friday, Europe/Berlin`. */
export const scheduleText = ({ kind, schedule_type, cron_expr, interval_minutes, start_time, fire_at, timezone }: Schedule): string => {
  const zone = timezone || 'UTC';
  if (kind === 'one_shot') return `Once, at ${fire_at}`;
  if (schedule_type === 'daily') return `Every day at ${start_time}, ${zone}`;
  if (cron_expr) return `${cronWords(cron_expr)}, ${zone}`;
  return interval_minutes === 1 ? 'Every minute' : `Every ${interval_minutes} minutes`;
};
