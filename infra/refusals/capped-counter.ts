const MAX_SINGLE_PER_MINUTE = 60;
const MAX_CALLERS = 100;
const MAX_PENDING = 1_000;
/** The caller under which all callers beyond `MAX_CALLERS` are counted. */
const OTHERS = 'others';

/** `at`: RFC 3339 UTC with milliseconds. */
export type TimedEvent<E> = { readonly event: E; readonly at: string };

type Sum = { count: number; first: string; last: string };

/** How refusals of one kind become events, and by whom they are counted. */
export type RefusalKind<T, E> = {
  /** The event of one refusal. */
  readonly single: (refused: T) => E;
  /** The event of all further refusals of one caller within a minute. */
  readonly summed: (sum: Sum & { caller: string }) => E;
  readonly callerOf: (refused: T) => string | null;
  /** Whether this refusal is never recorded singly. */
  readonly isOnlyCounted?: (refused: T) => boolean;
};

/** The length of a time up to its minute. */
const MINUTE_LENGTH = 16;

/**
 * Turns refusals into a bounded number of events: 60 a minute are recorded singly, the rest as one count per caller, so
 * that a flood of refusals does not fill the log.
 */
export const cappedCounter = <T, E>({ single, summed, callerOf, isOnlyCounted = () => false }: RefusalKind<T, E>) => {
  let minute = '';
  let singles = 0;
  let pending: TimedEvent<E>[] = [];
  let sums = new Map<string, Sum>();

  const count = (caller: string, at: string): void => {
    const sum = sums.get(caller);
    if (sum) {
      sum.count++;
      sum.last = at;
    } else if (sums.size < MAX_CALLERS || caller === OTHERS) sums.set(caller, { count: 1, first: at, last: at });
    else count(OTHERS, at);
  };

  const closeMinute = (): void => {
    for (const [caller, sum] of sums) pending.push({ event: summed({ caller, ...sum }), at: sum.last });
    sums = new Map();
    singles = 0;
  };

  const advanceTo = (at: string): void => {
    if (at.slice(0, MINUTE_LENGTH) === minute) return;
    closeMinute();
    minute = at.slice(0, MINUTE_LENGTH);
  };

  return {
    add: (refused: T, at: string): void => {
      advanceTo(at);
      if (!isOnlyCounted(refused) && singles++ < MAX_SINGLE_PER_MINUTE) pending.push({ event: single(refused), at });
      else count(callerOf(refused) ?? OTHERS, at);
    },
    /** Removes and returns the pending events. `includeCurrentMinute` also closes the sums of the current minute. */
    take: (at: string, includeCurrentMinute: boolean): readonly TimedEvent<E>[] => {
      advanceTo(at);
      if (includeCurrentMinute) closeMinute();
      const events = pending;
      pending = [];
      return events;
    },
    /** Puts back events that could not be recorded. Keeps the oldest 1,000, so that memory stays bounded. */
    putBack: (events: readonly TimedEvent<E>[]): void => {
      pending = [...events, ...pending].slice(0, MAX_PENDING);
    },
    /** Whether nothing is pending and the minute of the last refusal is over, so that the counter may be dropped. */
    isIdle: (at: string): boolean => pending.length === 0 && sums.size === 0 && at.slice(0, MINUTE_LENGTH) !== minute,
  };
};

export type CappedCounter<T, E> = ReturnType<typeof cappedCounter<T, E>>;
