import { type SlackConfig, WEEKDAYS } from './slack-config.ts';

const DEFAULT_DAYS: readonly string[] = WEEKDAYS.slice(0, 5);
const DEFAULT_ZONE = 'UTC';

const formats = new Map<string, Intl.DateTimeFormat>();

/** Cached, because creating a format takes much longer than using it. */
const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const key = timeZone.toLowerCase();
  const known =
    formats.get(key) ??
    new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  formats.set(key, known);
  return known;
};

/** A weekday such as `Mon`, and a time such as `09:00`. */
const localTime = (at: number, timeZone: string): { readonly day: string; readonly time: string } => {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return { day: parts.get('weekday')!, time: `${parts.get('hour')}:${parts.get('minute')}` };
};

/** `at` in Unix milliseconds. The minute of the start is included, that of the end is not. Without a start or end, midnight. */
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

/** The last result for each configuration, valid from `from` until `opensAt`. */
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
 * `at`, outside of working hours, and the result are Unix milliseconds. Null if they do not start within eight days, or last less than 15
 * minutes.
 */
export const nextWorkingTime = (config: SlackConfig, at: number): number | null => {
  const known = lastFound.get(config);
  if (known && known.from <= at && at < known.opensAt) return known.opensAt;
  const opensAt = search(config, at);
  if (opensAt !== null) lastFound.set(config, { from: at, opensAt });
  return opensAt;
};
