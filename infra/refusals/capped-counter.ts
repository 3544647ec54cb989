const MAX_SINGLE_PER_MINUTE = 60;
const MAX_CALLERS = 100;
const MAX_PENDING = 1_000;
/** Counts refusals of unknown callers, and of those after the first `MAX_CALLERS` of a minute. */
const OTHERS = 'others';

/** `at` is RFC 3339 UTC with milliseconds. */
export type TimedEvent<E> = { readonly event: E; readonly at: string };

type Sum = { count: number; first: string; last: string };

export type RefusalKind<T, E> = {
  readonly single: (refused: T) => E;
  /** Returns the event for a number of further refusals of one caller within a minute. */
  readonly summed: (sum: Sum & { caller: string }) => E;
  readonly callerOf: (refused: T) => string | null;
  /** Returns whether a refusal is only counted, and has no event of its own. */
  readonly isOnlyCounted?: (refused: T) => boolean;
};

/** The number of characters of a time (RFC 3339) up to and including its minute. */
const MINUTE_LENGTH = 16;

/**
 * Very many refusals must not fill the log: the first 60 of each minute become one event each, the others one event per caller with their
 * number.
 */
export const cappedCounter = <T, E>({ single, summed, callerOf, isOnlyCounted = () => false }: RefusalKind<T, E>) => {
  /** The minute of the last refusal. Empty after `take` if this minute is over, or ahead of a clock that was set back. */
  let minute = '';
  let singles = 0;
  let pending: TimedEvent<E>[] = [];
  let sums = new Map<string, Sum>();

  const count = (caller: string, at: string): void => {
    const sum = sums.get(caller);
    if (sum) {
      sum.count++;
      if (at < sum.first) sum.first = at;
      if (at > sum.last) sum.last = at;
    } else if (sums.size < MAX_CALLERS || caller === OTHERS) sums.set(caller, { count: 1, first: at, last: at });
    else count(OTHERS, at);
  };

  const closeMinute = (): void => {
    for (const [caller, sum] of sums) pending.push({ event: summed({ caller, ...sum }), at: sum.last });
    sums = new Map();
    singles = 0;
  };

  /** An earlier time, of a request that took long, changes nothing. */
  const advanceTo = (at: string): void => {
    if (at.slice(0, MINUTE_LENGTH) <= minute) return;
    closeMinute();
    minute = at.slice(0, MINUTE_LENGTH);
  };

  return {
    add: (refused: T, at: string): void => {
      advanceTo(at);
      if (!isOnlyCounted(refused) && singles++ < MAX_SINGLE_PER_MINUTE) pending.push({ event: single(refused), at });
      else count(callerOf(refused) ?? OTHERS, at);
    },
    /** `includeCurrentMinute` adds the counts of the current minute. */
    take: (at: string, includeCurrentMinute: boolean): readonly TimedEvent<E>[] => {
      const isSameMinute = at.slice(0, MINUTE_LENGTH) === minute;
      if (includeCurrentMinute || !isSameMinute) closeMinute();
      if (!isSameMinute) minute = '';
      const events = pending;
      pending = [];
      return events;
    },
    /** Takes events that could not be recorded. Keeps only the oldest 1,000 of them; returns the number of dropped ones. */
    putBack: (events: readonly TimedEvent<E>[]): number => {
      const all = [...events, ...pending];
      pending = all.slice(0, MAX_PENDING);
      return all.length - pending.length;
    },
    /** True if nothing is pending, and the minute of the last refusal is over: the counter can then be discarded. */
    isIdle: (at: string): boolean => pending.length === 0 && sums.size === 0 && at.slice(0, MINUTE_LENGTH) !== minute,
  };
};

export type CappedCounter<T, E> = ReturnType<typeof cappedCounter<T, E>>;
