import { valuesIn } from './filter-form.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The periods that end now, each with its name and its length; null without a start. */
export const PERIODS = {
  '1h': ['Last hour', HOUR_MS],
  '24h': ['Last 24 hours', 24 * HOUR_MS],
  '7d': ['Last 7 days', 7 * 24 * HOUR_MS],
  '30d': ['Last 30 days', 30 * 24 * HOUR_MS],
  all: ['All time', null],
} as const;
export type PeriodKey = keyof typeof PERIODS;

/** A period of a list. `own`: the visitor has typed its ends. `times` are the parameters `from` and `to` of the API. */
export type TimeRange = { readonly key: PeriodKey | 'own'; readonly title: string; readonly times: Readonly<Record<string, string>> };

const isPeriod = (text: string): text is PeriodKey => Object.hasOwn(PERIODS, text);

/** Returns the times of a period that ends now. It starts at a full minute, so that two requests have the same URL. */
const timesOf = (key: PeriodKey, now: number): Readonly<Record<string, string>> => {
  const [, length] = PERIODS[key];
  return length === null ? {} : { from: new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - length).toISOString() };
};

/** Returns the period that the parameters `period`, `from` and `to` of a page select. */
export const timeRangeOf = (query: URLSearchParams, usual: PeriodKey, now = Date.now()): TimeRange => {
  const own = valuesIn(query, ['from', 'to']);
  if (Object.keys(own).length > 0) return { key: 'own', title: 'Own period', times: own };
  const asked = query.get('period') ?? '';
  const key = isPeriod(asked) ? asked : usual;
  return { key, title: PERIODS[key][0], times: timesOf(key, now) };
};

/** Says which time is meant, as the end of a sentence: `in the last 24 hours`, `so far`. */
export const rangeWords = ({ key, title }: TimeRange): string =>
  key === 'own' ? 'in this period' : key === 'all' ? 'so far' : `in the ${title.toLowerCase()}`;
