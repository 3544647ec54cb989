import { clockChangeAfter, instantOf, localTimeOf, offsetAt } from '../time-zone.ts';
import { type CronExpression, MAX_CHANGE_MS, nextDay, nextOccurrence, type Recurrence } from './recurrence.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const LAST_SECOND = '23:59:59';

/** The maximum number of due times that are calculated between two yields. */
const MAX_PART = 200;

/** Due times of a job in milliseconds since 1970, ascending. */
type Times = readonly number[];

const textOf = (ms: number): string => new Date(ms).toISOString();

const daysAfter = (date: string, days: number): string => textOf(Date.parse(date) + days * DAY_MS).slice(0, 10);

/** Yields the due times in a short period, with the rules of `nextDueTime` for clock changes. */
function* eachOccurrence(recurrence: Recurrence, from: number, to: number): Generator<Times, void> {
  const end = textOf(to);
  let part: number[] = [];
  for (let due = nextOccurrence(recurrence, textOf(from - 1)); due !== null && due < end; due = nextOccurrence(recurrence, due)) {
    part.push(Date.parse(due));
    if (part.length < MAX_PART) continue;
    yield part;
    part = [];
  }
  yield part;
}

function* ofInterval(step: number, anchor: number, from: number, to: number): Generator<Times, void> {
  let part: number[] = [];
  for (let at = anchor + Math.max(0, Math.ceil((from - anchor) / step)) * step; at < to; at += step) {
    part.push(at);
    if (part.length < MAX_PART) continue;
    yield part;
    part = [];
  }
  yield part;
}

/** A schedule of local times that is the same on each of its days: the times of day in milliseconds, and its days. */
type DailyTimes = { readonly times: Times; readonly isDay: (date: string) => boolean };

const msOfDay = (local: string): number => Date.parse(`1970-01-01T${local.slice(11)}Z`);

/** Returns the local times of a cron expression. Its minutes and hours do not depend on the day. */
const timesOfCron = ({ next }: CronExpression, start: string): DailyTimes => {
  let upcoming = next(`${daysAfter(start, -1)}T${LAST_SECOND}`);
  const day = upcoming?.slice(0, 11);
  const minutes: number[] = [];
  for (let at = upcoming; at !== null && at.slice(0, 13) === upcoming!.slice(0, 13); at = next(at)) minutes.push(Number(at.slice(14, 16)));
  const hours: number[] = [];
  for (let at = upcoming; at !== null && at.slice(0, 11) === day; at = next(`${at.slice(0, 13)}:59:59`))
    hours.push(Number(at.slice(11, 13)));
  const isDay = (date: string): boolean => {
    // The caller requests days in ascending order.
    if (upcoming !== null && upcoming.slice(0, 10) < date) upcoming = next(`${daysAfter(date, -1)}T${LAST_SECOND}`);
    return upcoming?.slice(0, 10) === date;
  };
  return { times: hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * MINUTE_MS)), isDay };
};

const dailyTimes = (recurrence: Extract<Recurrence, { zone: string }>, start: string): DailyTimes =>
  recurrence.kind === 'cron'
    ? timesOfCron(recurrence.expression, start)
    : { times: [msOfDay(nextDay(recurrence.time, `${daysAfter(start, -1)}T${LAST_SECOND}`))], isDay: () => true };

/** Returns the next clock change of a zone at or after a time, in milliseconds. The caller requests times in ascending order. */
const changesOf = (zone: string) => {
  let known = Number.NEGATIVE_INFINITY;
  return (ms: number): number => {
    if (known >= ms) return known;
    const change = clockChangeAfter(textOf(ms - 1), zone);
    known = change === null ? Number.POSITIVE_INFINITY : Date.parse(change);
    return known;
  };
};

/** Returns by how many milliseconds the clocks of a zone change at a time. */
const shiftAt = (change: number, zone: string): number => Math.abs(offsetAt(textOf(change), zone) - offsetAt(textOf(change - 1), zone));

const within = (times: Times, from: number, to: number): Times => {
  if (times.length === 0 || (times[0]! >= from && times.at(-1)! < to)) return times;
  return times.filter((at) => at >= from && at < to);
};

function* ofLocalTimes(recurrence: Extract<Recurrence, { zone: string }>, from: number, to: number): Generator<Times, void> {
  const { zone } = recurrence;
  const nextChange = changesOf(zone);
  let date = localTimeOf(textOf(from), zone).slice(0, 10);
  const { times, isDay } = dailyTimes(recurrence, date);
  /** Returns the due times of the day in a part of it in which clocks do not change. `midnight` is 24 hours before its end. */
  const plain = (midnight: number, begin: number, end: number): Times =>
    isDay(date)
      ? within(
          times.map((ms) => midnight + ms),
          Math.max(begin, from),
          Math.min(end, to),
        )
      : [];
  for (let start = Date.parse(instantOf(`${date}T00:00:00`, zone)); start < to; ) {
    const next = daysAfter(date, 1);
    const change = nextChange(start - MAX_CHANGE_MS);
    let end = start + DAY_MS;
    if (change > end) yield plain(start, start, end);
    else {
      end = Date.parse(instantOf(`${next}T00:00:00`, zone));
      const second = clockChangeAfter(textOf(change), zone);
      const isAlone = second === null || Date.parse(second) > end;
      const changed = isAlone ? Math.max(start, Math.min(change, end)) : start;
      const usual = isAlone ? Math.max(start, Math.min(end, change + shiftAt(change, zone))) : end;
      yield plain(start, start, changed);
      yield* eachOccurrence(recurrence, Math.max(changed, from), Math.min(usual, to));
      yield plain(end - DAY_MS, usual, end);
    }
    start = end;
    date = next;
  }
}

/**
 * Yields the due times of a schedule from `from` (inclusive) to `to` (exclusive), in milliseconds since 1970: the same
 * as repeated calls of `nextOccurrence`, but a hundred times as fast. A part has at most the due times of one day; it can be empty.
 */
export function* dueTimes(recurrence: Recurrence, from: number, to: number): Generator<Times, void> {
  switch (recurrence.kind) {
    case 'once':
      return yield within([Date.parse(recurrence.at)], from, to);
    case 'interval':
      return yield* ofInterval(recurrence.minutes * MINUTE_MS, Date.parse(recurrence.anchor), from, to);
    default:
      yield* ofLocalTimes(recurrence, from, to);
  }
}
