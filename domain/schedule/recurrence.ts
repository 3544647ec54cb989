import { instantOf, localTimeOf } from '../time-zone.ts';

/**
 * A parsed cron expression. `next` returns the first local time after `after` at which it matches; null if there is
 * none in the years that can be represented. Both are YYYY-MM-DDTHH:MM:SS.
 */
export type CronExpression = { readonly next: (after: string) => string | null };

/** Parses a cron expression of five fields; null if it is malformed. */
export type ParseCron = (expression: string) => CronExpression | null;

/**
 * When a job is due. `interval` is elapsed time, counted from `anchor`. `daily` and `cron` are local times in `zone`.
 * Times are RFC 3339 in UTC.
 */
export type Recurrence =
  | { readonly kind: 'once'; readonly at: string }
  | { readonly kind: 'interval'; readonly minutes: number; readonly anchor: string }
  | { readonly kind: 'daily'; readonly time: string; readonly zone: string }
  | { readonly kind: 'cron'; readonly expression: CronExpression; readonly zone: string };

const MINUTE_MS = 60_000;

const nextOfInterval = (minutes: number, anchor: string, after: string): string => {
  const start = Date.parse(anchor);
  const elapsed = Date.parse(after) - start;
  const count = elapsed < 0 ? 0 : Math.floor(elapsed / (minutes * MINUTE_MS)) + 1;
  return new Date(start + count * minutes * MINUTE_MS).toISOString();
};

/**
 * A time at which a job is due. `local_time` (YYYY-MM-DDTHH:MM:SS) is the local time of its schedule; null if the
 * schedule does not consist of local times. Where clocks skip this local time, `due_at` is the moment of the skip.
 */
export type DueTime = { readonly due_at: string; readonly local_time: string | null };

/**
 * Returns the first instant after `after` in a series of local times. `next` yields the series. A local time is passed
 * over if its instant is not after `after`. That happens because clocks can show a local time twice, and because local
 * times that clocks skip can have the same instant.
 */
const nextOfLocalTimes = (zone: string, after: string, next: (local: string) => string | null): DueTime | null => {
  let local = next(localTimeOf(after, zone));
  while (local !== null) {
    const instant = instantOf(local, zone);
    if (instant > after) return { due_at: instant, local_time: local };
    local = next(local);
  }
  return null;
};

/** Returns the first local time after `local` at which the time of day is `time` (HH:MM:SS). */
const nextDay = (time: string, local: string): string => {
  const date = local.slice(0, 10);
  if (local.slice(11) < time) return `${date}T${time}`;
  return `${Temporal.PlainDate.from(date).add({ days: 1 }).toString()}T${time}`;
};

/**
 * Returns when a job is next due after `after`; null if never. If clocks skip a local time, the job is due at the
 * moment of the skip. If clocks show a local time twice, the job is due once, the first time.
 */
export const nextDueTime = (recurrence: Recurrence, after: string): DueTime | null => {
  switch (recurrence.kind) {
    case 'once':
      return recurrence.at > after ? { due_at: recurrence.at, local_time: null } : null;
    case 'interval':
      return { due_at: nextOfInterval(recurrence.minutes, recurrence.anchor, after), local_time: null };
    case 'daily':
      return nextOfLocalTimes(recurrence.zone, after, (local) => nextDay(recurrence.time, local));
    case 'cron':
      return nextOfLocalTimes(recurrence.zone, after, recurrence.expression.next);
  }
};

/** Returns the instant at which a job is next due after `after`; null if never. */
export const nextOccurrence = (recurrence: Recurrence, after: string): string | null => nextDueTime(recurrence, after)?.due_at ?? null;
