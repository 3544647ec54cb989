import { type SlackConfig, WEEKDAYS } from './slack-config.ts';

const DEFAULT_DAYS: readonly string[] = WEEKDAYS.slice(0, 5);
const DEFAULT_ZONE = 'UTC';

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns an object that formats times in a time zone. These objects are cached, because creating one takes much longer
 * than using it.
 */
const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const key = timeZone.toLowerCase();
  const known =
    formats.get(key) ??
    new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  formats.set(key, known);
  return known;
};

/** Returns the weekday (such as `Mon`) and the time of day (such as `09:00`) in a time zone. */
const localTime = (at: number, timeZone: string): { readonly day: string; readonly time: string } => {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return { day: parts.get('weekday')!, time: `${parts.get('hour')}:${parts.get('minute')}` };
};

/**
 * Returns whether an agent works at the time `at` (Unix milliseconds). The minute in which working hours start belongs
 * to them, and the minute in which they end does not. If no start is set, they start at midnight; if no end is set,
 * they end at midnight.
 */
export const isWorkingTime = (config: SlackConfig, at: number): boolean => {
  if (!config.working_hours_enabled) return true;
  const { day, time } = localTime(at, config.working_hours_tz ?? DEFAULT_ZONE);
  if (!(config.working_hours_days ?? DEFAULT_DAYS).includes(day)) return false;
  const { working_hours_start: start, working_hours_end: end } = config;
  return (start === null || time >= start) && (end === null || time < end);
};
