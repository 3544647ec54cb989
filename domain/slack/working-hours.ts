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

const MINUTE_MS = 60_000;
const STEP_MS = 15 * MINUTE_MS;
const MAX_SEARCH_MS = 8 * 86_400_000;

const startOfMinute = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS;

/** The result of the last search for each configuration. It is valid from `from` until `opensAt`. */
const lastFound = new WeakMap<SlackConfig, { readonly from: number; readonly opensAt: number }>();

const search = (config: SlackConfig, at: number): number | null => {
  for (let later = startOfMinute(at) + STEP_MS; later <= at + MAX_SEARCH_MS; later += STEP_MS) {
    if (!isWorkingTime(config, later)) continue;
    let opensAt = later;
    while (isWorkingTime(config, opensAt - MINUTE_MS)) opensAt -= MINUTE_MS;
    return opensAt;
  }
  return null;
};

/**
 * Returns the next start of the working hours after `at`, a time outside of them (both in Unix milliseconds). Returns
 * null if they do not start within eight days, or last less than 15 minutes.
 */
export const nextWorkingTime = (config: SlackConfig, at: number): number | null => {
  const known = lastFound.get(config);
  if (known && known.from <= at && at < known.opensAt) return known.opensAt;
  const opensAt = search(config, at);
  if (opensAt !== null) lastFound.set(config, { from: at, opensAt });
  return opensAt;
};
