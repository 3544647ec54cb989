import { clockChangeAfter, instantOf, localTimeOf, offsetAt } from '../time-zone.ts';

/**
 * `next`: the first matching local time after `after`, both YYYY-MM-DDTHH:MM:SS; null if there is none in the years that can be
 * represented. `keepsRhythm`: when clocks change, the elapsed time between runs stays the same.
 */
export type CronExpression = { readonly next: (after: string) => string | null; readonly keepsRhythm: boolean };

/** Returns whether the hour is a wildcard, a step or a range, and not a time of day. See CronExpression. */
export const keepsRhythm = (expression: string): boolean => /[*/-]/.test(expression.trim().split(/\s+/)[1] ?? '');

/** Five fields; null if malformed. */
export type ParseCron = (expression: string) => CronExpression | null;

/** `interval` counts elapsed time from `anchor`. `daily` and `cron` are local times in `zone`; all other times are RFC 3339 UTC. */
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
 * `local_time` (YYYY-MM-DDTHH:MM:SS) is null without local times. If clocks skip it, `due_at` is the moment at which they do or, if the
 * schedule keeps its rhythm, at which they would show it if they had not been changed.
 */
export type DueTime = { readonly due_at: string; readonly local_time: string | null };

/**
 * `next` yields local times. Leaves out those whose instant is not after `after`: clocks show some local times twice, and several skipped
 * ones have the same instant.
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

/** No zone has changed its clocks by more than this since 2012. */
export const MAX_CHANGE_MS = 3 * 60 * MINUTE_MS;

/** Returns the next due time as if clocks were always `offset` milliseconds ahead of UTC. */
const nextAtOffset = (offset: number, after: string, next: (local: string) => string | null): DueTime | null => {
  const local_time = next(new Date(Date.parse(after) + offset).toISOString().slice(0, 19));
  return local_time === null ? null : { due_at: new Date(Date.parse(`${local_time}Z`) - offset).toISOString(), local_time };
};

/** Keeps the rhythm: a local time that clocks show twice is due both times, and one that they skip is due after the usual interval. */
const nextOfRhythm = (zone: string, after: string, next: (local: string) => string | null): DueTime | null => {
  const plain = nextOfLocalTimes(zone, after, next);
  const earlier = new Date(Date.parse(after) - MAX_CHANGE_MS).toISOString();
  const offset = offsetAt(earlier, zone);
  if (plain === null || offsetAt(plain.due_at, zone) === offset) return plain;
  const change = clockChangeAfter(earlier, zone)!;
  const changed = offsetAt(change, zone);
  const endOfGap = new Date(Date.parse(change) + Math.max(0, changed - offset)).toISOString();
  const justBefore = new Date(Date.parse(change) - 1).toISOString();
  const [before, behind] = [nextAtOffset(offset, after, next), nextAtOffset(changed, after > justBefore ? after : justBefore, next)];
  if (before && before.due_at < endOfGap && (behind === null || before.due_at < behind.due_at)) return before;
  const nextChange = clockChangeAfter(change, zone);
  return behind === null || (nextChange !== null && behind.due_at >= nextChange) ? plain : behind;
};

/** `time` is HH:MM:SS. */
export const nextDay = (time: string, local: string): string => {
  const date = local.slice(0, 10);
  if (local.slice(11) < time) return `${date}T${time}`;
  return `${Temporal.PlainDate.from(date).add({ days: 1 }).toString()}T${time}`;
};

/**
 * Due at the moment at which clocks skip the local time, or the first time if they show it twice. Cron expressions that keep their rhythm
 * follow `nextOfRhythm`.
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
      return (recurrence.expression.keepsRhythm ? nextOfRhythm : nextOfLocalTimes)(recurrence.zone, after, recurrence.expression.next);
  }
};

/** As `nextDueTime`, but only the instant. */
export const nextOccurrence = (recurrence: Recurrence, after: string): string | null => nextDueTime(recurrence, after)?.due_at ?? null;
