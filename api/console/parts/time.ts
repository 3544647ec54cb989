import { element, tags } from './tags.ts';

const { span } = tags;

/** Formats a time in UTC as people read it: `23 Nov 2026, 09:46:41.123`. */
export const absoluteTime = (at: string): string => {
  const [day = '', time = ''] = new Date(at).toISOString().split('T');
  const [year, month, date] = day.split('-');
  const name = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][Number(month) - 1];
  return `${Number(date)} ${name} ${year}, ${time.replace('Z', '')} UTC`;
};

const relativeTime = (at: string, text: string) =>
  element('relative-time', { datetime: at, title: text, tense: 'auto', format: 'relative', precision: 'second' }, text);

/** Renders how long ago a time was. Without JavaScript, the full time is shown. */
export const ago = (at: string | null, never = 'never') =>
  at === null ? span({ class: 'quiet' }, never) : relativeTime(at, absoluteTime(at));

/** Renders a full time. */
export const exact = (at: string | null) =>
  at === null ? span({ class: 'quiet' }, '—') : tags.time({ datetime: at, class: 'mono' }, absoluteTime(at));

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
