import { instantIn, localTimeOf } from './parts/local-time.ts';
import { daysAfter } from './parts/period.ts';

const POSITION = /^\d{1,20}:\d{1,20}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i;
/** Matches a time with an offset, whose plus became a blank because it was not encoded in the address. */
const BLANK_OFFSET = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) (\d\d:\d\d)$/i;
/** Matches the time of day in a time without seconds, which RFC 3339 requires. */
const WITHOUT_SECONDS = /(t\d\d:\d\d)(?=z|[+-])/;
const DAY = /^(\d{4}-\d\d-\d\d)(?:[ T](\d{1,2}):(\d\d)(?::(\d\d))?)?$/;
const NAMED_DAY = /^(?:(today|yesterday)\s*)?(?:at\s+)?(?:(\d{1,2}):(\d\d)(?::(\d\d))?)?$/;
const AGO = /^(\d{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\s+ago$/;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Matches a time of day, such as 9:00. A consistency token has the same form, but its two numbers are usually equal;
 * such a text does not match.
 */
const CLOCK = /^(?!(\d+):\1$)(?:[01]?\d|2[0-3]):[0-5]\d$/;

/** Whether a text is a consistency token. */
export const isPosition = (text: string): boolean => POSITION.test(text) && !CLOCK.test(text);

const instantOf = (text: string): string | null => {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
};

const timeOf = (day: string, [hour = '0', minute = '00', second = '00']: readonly (string | undefined)[], zone: string): string | null => {
  const local = `${day}T${hour.padStart(2, '0')}:${minute}:${second}`;
  return instantOf(`${local}Z`) === null ? null : instantIn(local, zone);
};

/**
 * Parses a time as people in a time zone write it: an RFC 3339 time, `2026-11-21 10:00`, `yesterday 9:00`, `9:00`, `2 hours
 * ago`, or a consistency token. Returns an RFC 3339 time or the token. Null if the text has none of these forms.
 */
export const pastTime = (text: string, now: number, zone: string): string | null => {
  const words = text.trim().replace(BLANK_OFFSET, '$1+$2').toLowerCase();
  if (words === '') return null;
  if (isPosition(words)) return words;
  if (INSTANT.test(words)) return instantOf(words) === null ? null : words.replace(WITHOUT_SECONDS, '$1:00').toUpperCase();
  const [, day, ...time] = DAY.exec(words) ?? [];
  if (day) return timeOf(day, time, zone);
  const [, count, unit] = AGO.exec(words) ?? [];
  if (count && unit) return new Date(now - Number(count) * UNIT_MS[unit[0]!]!).toISOString();
  const [matched, name, ...clock] = NAMED_DAY.exec(words) ?? [];
  if (!matched) return null;
  const { date } = localTimeOf(new Date(now).toISOString(), zone);
  return timeOf(name === 'yesterday' ? daysAfter(date, -1) : date, clock, zone);
};

/**
 * Compares two consistency tokens. The result is negative if the first is lower, zero if they are equal, otherwise
 * positive.
 */
export const comparePlaces = (one: string, other: string): number => {
  const [[commit, prepare], [otherCommit, otherPrepare]] = [one, other].map((token) => token.split(':').map(BigInt)) as [
    bigint[],
    bigint[],
  ];
  if (commit !== otherCommit) return commit! < otherCommit! ? -1 : 1;
  return prepare === otherPrepare ? 0 : prepare! < otherPrepare! ? -1 : 1;
};
