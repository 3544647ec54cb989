const DAY_MS = 86_400_000;

/**
 * A day, a week (from Monday) or a month. `days` are its dates. `previous` and `next` are dates in the adjacent
 * periods.
 */
export type Period = {
  readonly view: 'day' | 'week' | 'month';
  readonly from: string;
  readonly to: string;
  readonly days: readonly string[];
  readonly previous: string;
  readonly next: string;
  readonly title: string;
};

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** Returns the date of a time in UTC: YYYY-MM-DD. */
export const dateOf = (at: string | number): string => new Date(at).toISOString().slice(0, 10);

export const daysAfter = (date: string, days: number): string => dateOf(Date.parse(date) + days * DAY_MS);

/** Returns how many days a date is after Monday: 0 for Monday, 6 for Sunday. */
export const weekdayOf = (date: string): number => (new Date(date).getUTCDay() + 6) % 7;

export const weekdayName = (date: string): string => WEEKDAYS[weekdayOf(date)]!;

const monthOnly = (date: string): string => MONTHS[Number(date.slice(5, 7)) - 1]!;

/** Formats a date for people: `23 November`. */
export const dayName = (date: string): string => `${Number(date.slice(8))} ${monthOnly(date)}`;

/** Formats the month of a date or of a month (YYYY-MM): `November 2026`. */
export const monthName = (date: string): string => `${monthOnly(date)} ${date.slice(0, 4)}`;

/** Periods around later dates would end after the year 9999. */
const LAST_DATE = '9998-11-30';

const isDate = (text: string): boolean =>
  /^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) && text <= LAST_DATE && !Number.isNaN(Date.parse(text)) && dateOf(text) === text;

const daysBetween = (from: string, to: string): readonly string[] =>
  Array.from({ length: (Date.parse(to) - Date.parse(from)) / DAY_MS }, (_, index) => daysAfter(from, index));

const dayOf = (date: string): Period => {
  const to = daysAfter(date, 1);
  const title = `${weekdayName(date)}, ${dayName(date)} ${date.slice(0, 4)}`;
  return { view: 'day', from: date, to, days: [date], previous: daysAfter(date, -1), next: to, title };
};

const weekOf = (date: string): Period => {
  const from = daysAfter(date, -weekdayOf(date));
  const to = daysAfter(from, 7);
  const title = `${dayName(from)} to ${dayName(daysAfter(to, -1))} ${to.slice(0, 4)}`;
  return { view: 'week', from, to, days: daysBetween(from, to), previous: daysAfter(from, -7), next: to, title };
};

const monthOf = (date: string): Period => {
  const from = `${date.slice(0, 7)}-01`;
  const to = `${daysAfter(from, 31).slice(0, 7)}-01`;
  const previous = `${daysAfter(from, -1).slice(0, 7)}-01`;
  return { view: 'month', from, to, days: daysBetween(from, to), previous, next: to, title: monthName(from) };
};

/**
 * Returns the period that the parameters `view` and `date` of a page select; by default, the week that contains `today` (YYYY-MM-DD).
 */
export const periodOf = (query: URLSearchParams, today: string): Period => {
  const asked = query.get('date') ?? '';
  const date = isDate(asked) ? asked : today;
  const view = query.get('view');
  if (view === 'month') return monthOf(date);
  return view === 'day' ? dayOf(date) : weekOf(date);
};
