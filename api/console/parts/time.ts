import { localTimeOf } from './local-time.ts';
import { element, type TimeText, tags, timeText } from './tags.ts';

const { span } = tags;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const dayText = (date: string): string => {
  const [year, month, day] = date.split('-');
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
};

/** Returns the time of day without parts that are zero: `09:30`, or `09:30:15`. */
const shortTime = (time: string): string => time.slice(0, time.slice(5, 8) === ':00' ? 5 : 8);

/** Formats a time as people read it: `23 Nov 2026, 09:46:41.123 UTC`. In other zones, it ends with the offset: `+01:00`. */
export const absoluteTime = (at: string, zone: string): string => {
  const { date, time, offset } = localTimeOf(at, zone);
  return `${dayText(date)}, ${time} ${zone === 'UTC' ? zone : offset}`;
};

/** Formats a time without seconds and zone: `23 Nov 2026, 09:46`. */
export const minuteText = (at: string, zone: string): string => {
  const { date, time } = localTimeOf(at, zone);
  return `${dayText(date)}, ${time.slice(0, 5)}`;
};

/** Formats the time of day: `14:05 UTC`, or `14:05 +01:00`. */
export const timeOfDay = (at: string, zone: string): string => {
  const { time, offset } = localTimeOf(at, zone);
  return `${time.slice(0, 5)} ${zone === 'UTC' ? zone : offset}`;
};

/** The formats of times in pages. */
const FORMATS: Readonly<Record<string, (at: string, zone: string) => string>> = {
  full: absoluteTime,
  minute: minuteText,
  clock: (at, zone) => shortTime(localTimeOf(at, zone).time),
  hour: (at, zone) => localTimeOf(at, zone).time.slice(0, 5),
  // A time as it is typed into a field: RFC 3339, with the offset of the zone.
  field: (at, zone) => {
    if (zone === 'UTC') return at;
    const { date, time, offset } = localTimeOf(at, zone);
    return `${date}T${time}${offset}`;
  },
};

/** Returns the function that formats the times of a page in a time zone. */
export const formatIn =
  (zone: string) =>
  (format: string, at: string): string =>
    FORMATS[format]!(at, zone);

/** Renders a time in the visitor's zone: `full` as `absoluteTime` does, `minute` without seconds, `clock` without date,
 * `hour` also without seconds. */
export const zoned = (at: string, format: 'full' | 'minute' | 'clock' | 'hour' = 'full'): TimeText => timeText(format, at);

/** Returns the value of a field for a time. If the text is a time, it is shown in the visitor's zone. */
export const fieldTime = (text: string): string | TimeText =>
  /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)) ? timeText('field', text) : text;

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
/** The units of relative times: the length in seconds, and up to which number the unit is used. */
const RELATIVE_UNITS = [
  ['second', 1, 55],
  ['minute', 60, 55],
  ['hour', 3_600, 21],
  ['day', 86_400, 6],
  ['week', 604_800, 4],
  ['month', 2_629_800, 12],
  ['year', 31_557_600, Number.POSITIVE_INFINITY],
] as const;

/** Formats how long before or after `now` a time is: `now`, `4 minutes ago`, `in 2 hours`, `yesterday`. */
export const relativeText = (at: string, now: number): string => {
  const seconds = (Date.parse(at) - now) / 1_000;
  const [unit, length] = RELATIVE_UNITS.find(([, length, limit]) => Math.round(Math.abs(seconds) / length) < limit)!;
  const count = Math.max(unit === 'second' ? 0 : 1, Math.floor(Math.abs(seconds) / length));
  return RELATIVE.format(count === 0 ? 0 : count * Math.sign(seconds), unit);
};

const relativeTime = (at: string) =>
  element(
    'relative-time',
    { datetime: at, title: zoned(at), tense: 'auto', format: 'relative', precision: 'second' },
    relativeText(at, Date.now()),
  );

/**
 * Renders how long ago a time was. With JavaScript, the text is kept up to date; it is as wide as the first text, so that
 * nothing moves.
 */
export const ago = (at: string | null, never = 'never') => (at === null ? span({ class: 'quiet' }, never) : relativeTime(at));

/** Renders a full time. */
export const exact = (at: string | null) =>
  at === null ? span({ class: 'quiet' }, '—') : tags.time({ datetime: at, class: 'mono' }, zoned(at));

const MINUTE_MS = 60_000;

/** Formats a duration in a suitable unit: `3 ms`, `1.24 s`, `4 min 10 s`. */
export const duration = (milliseconds: number): string => {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < MINUTE_MS) return `${(milliseconds / 1_000).toFixed(2)} s`;
  const minutes = Math.floor(milliseconds / MINUTE_MS);
  if (minutes < 60) return `${minutes} min ${Math.round((milliseconds % MINUTE_MS) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

export const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

/** Renders how long something took; a dash while it continues. */
export const tookText = ({ created_at, completed_at }: { readonly created_at: string; readonly completed_at: string | null }) =>
  completed_at === null ? span({ class: 'quiet' }, '—') : duration(Math.max(0, between(created_at, completed_at)));
