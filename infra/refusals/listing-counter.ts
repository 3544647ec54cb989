import type { CappedCounter, TimedEvent } from './capped-counter.ts';

const MAX_SINGLE_PER_MINUTE = 60;
/** The maximum number of refusals in one append. It keeps the append below the size limit of the log. */
const MAX_PER_APPEND = 500;
/** The maximum number of refusals that wait for the log, to limit the memory. */
const MAX_PENDING = 100_000;
/** The number of characters of a time (RFC 3339) up to and including its minute. */
const MINUTE_LENGTH = 16;

type Timed<T> = { readonly refused: T; readonly at: string; readonly isSingle: boolean };

/**
 * Creates a counter that converts all refusals to events. The first 60 refusals of each minute become one event each;
 * the others become events with many refusals each. `eventOf` returns the event for a list of refusals.
 */
export const listingCounter = <T, E>(eventOf: (refused: readonly T[]) => E): CappedCounter<T, E> => {
  let minute = '';
  let singles = 0;
  let pending: Timed<T>[] = [];
  /** The refusals in the events that `take` returned last. */
  let taken: Timed<T>[] = [];

  const eventsOf = (refusals: readonly Timed<T>[]): TimedEvent<E>[] => {
    const listed = refusals.filter(({ isSingle }) => !isSingle);
    const events = refusals.filter(({ isSingle }) => isSingle).map(({ refused, at }) => ({ event: eventOf([refused]), at }));
    return listed.length === 0 ? events : [...events, { event: eventOf(listed.map(({ refused }) => refused)), at: listed.at(-1)!.at }];
  };

  return {
    add: (refused, at) => {
      const current = at.slice(0, MINUTE_LENGTH);
      if (current !== minute) singles = 0;
      minute = current;
      if (pending.length < MAX_PENDING) pending.push({ refused, at, isSingle: singles++ < MAX_SINGLE_PER_MINUTE });
    },
    take: () => {
      taken = pending.slice(0, MAX_PER_APPEND);
      pending = pending.slice(MAX_PER_APPEND);
      return eventsOf(taken);
    },
    putBack: () => {
      const all = [...taken, ...pending];
      taken = [];
      pending = all.slice(0, MAX_PENDING);
      return all.length - pending.length;
    },
    isIdle: (at) => pending.length === 0 && at.slice(0, MINUTE_LENGTH) !== minute,
  };
};
