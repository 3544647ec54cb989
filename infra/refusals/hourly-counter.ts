import type { CappedCounter, TimedEvent } from './capped-counter.ts';

/** The maximum number of refusals of one caller that are listed one by one in an hour. Further ones are counted. */
const MAX_LISTED_OF_CALLER = 100;
/** The maximum number of callers in an hour whose refusals are listed. Those of further callers are counted together. */
const MAX_CALLERS = 100;
const MAX_SINGLE_PER_MINUTE = 60;
/** The maximum number of refusals in one append. It keeps the append below the size limit of the log. */
const MAX_PER_APPEND = 500;
/** The maximum number of refusals that wait for the log, to limit the memory. */
const MAX_PENDING = 100_000;
/** The number of characters of a time (RFC 3339) up to its hour, its tens of minutes and its minute. */
const [HOUR_LENGTH, TEN_MINUTES_LENGTH, MINUTE_LENGTH] = [13, 15, 16];

/** `latest` is the last of these refusals; `isOfMany`: they have several callers. */
export type Sum<T> = {
  readonly count: number;
  readonly first: string;
  readonly last: string;
  readonly latest: T;
  readonly isOfMany: boolean;
};

type Listed<T> = { readonly refused: T; readonly at: string; readonly isSingle: boolean };
type Pending<T> = Listed<T> | { readonly sum: Sum<T> };

/** `callerOf` returns the key by which refusals are counted. */
export type HourlyKind<T, E> = {
  readonly listed: (refused: readonly T[]) => E;
  readonly summed: (sum: Sum<T>) => E;
  readonly callerOf: (refused: T) => string;
};

type Counter<T, E> = {
  readonly kind: HourlyKind<T, E>;
  hour: string;
  tenMinutes: string;
  minute: string;
  singles: number;
  readonly callers: Map<string, number>;
  readonly sums: Map<string, Sum<T>>;
  pending: Pending<T>[];
  /** What `take` returned last. */
  taken: Pending<T>[];
};

const OTHERS = '';

const closeSums = <T, E>({ sums, pending }: Counter<T, E>): void => {
  for (const sum of sums.values()) pending.push({ sum });
  sums.clear();
};

/** An earlier time, of a request that took long, changes nothing. */
const advanceTo = <T, E>(counter: Counter<T, E>, at: string): void => {
  if (at.slice(0, MINUTE_LENGTH) <= counter.minute) return;
  const [hour, tenMinutes, minute] = [at.slice(0, HOUR_LENGTH), at.slice(0, TEN_MINUTES_LENGTH), at.slice(0, MINUTE_LENGTH)];
  if (tenMinutes !== counter.tenMinutes) closeSums(counter);
  if (hour !== counter.hour) counter.callers.clear();
  if (minute !== counter.minute) counter.singles = 0;
  Object.assign(counter, { hour, tenMinutes, minute });
};

const count = <T, E>({ sums }: Counter<T, E>, caller: string, refused: T, at: string): void => {
  const sum = sums.get(caller) ?? { count: 0, first: at, last: at, latest: refused, isOfMany: caller === OTHERS };
  const times = { first: at < sum.first ? at : sum.first, ...(at >= sum.last && { last: at, latest: refused }) };
  sums.set(caller, { ...sum, ...times, count: sum.count + 1 });
};

const add = <T, E>(counter: Counter<T, E>, refused: T, at: string): void => {
  const { kind, callers, pending } = counter;
  advanceTo(counter, at);
  const caller = kind.callerOf(refused);
  const isKnown = callers.has(caller) || callers.size < MAX_CALLERS;
  const listed = callers.get(caller) ?? 0;
  if (!isKnown || listed >= MAX_LISTED_OF_CALLER) {
    count(counter, isKnown ? caller : OTHERS, refused, at);
    return;
  }
  callers.set(caller, listed + 1);
  if (pending.length < MAX_PENDING) pending.push({ refused, at, isSingle: counter.singles++ < MAX_SINGLE_PER_MINUTE });
};

const eventsOf = <T, E>({ listed, summed }: HourlyKind<T, E>, pending: readonly Pending<T>[]): TimedEvent<E>[] => {
  const refusals = pending.filter((one): one is Listed<T> => 'refused' in one);
  const many = refusals.filter(({ isSingle }) => !isSingle);
  return [
    ...refusals.filter(({ isSingle }) => isSingle).map(({ refused, at }) => ({ event: listed([refused]), at })),
    ...(many.length > 0 ? [{ event: listed(many.map(({ refused }) => refused)), at: many.at(-1)!.at }] : []),
    ...pending.flatMap((one) => ('sum' in one ? [{ event: summed(one.sum), at: one.sum.last }] : [])),
  ];
};

/** Forgets periods that start after `at`: the clock was set back. */
const followClock = <T, E>(counter: Counter<T, E>, at: string): void => {
  if (at.slice(0, MINUTE_LENGTH) >= counter.minute) return;
  counter.callers.clear();
  Object.assign(counter, { hour: '', tenMinutes: '', minute: '', singles: 0 });
};

const take = <T, E>(counter: Counter<T, E>, at: string, includeCurrent: boolean): TimedEvent<E>[] => {
  followClock(counter, at);
  if (includeCurrent || at.slice(0, TEN_MINUTES_LENGTH) !== counter.tenMinutes) closeSums(counter);
  counter.taken = counter.pending.slice(0, MAX_PER_APPEND);
  counter.pending = counter.pending.slice(MAX_PER_APPEND);
  return eventsOf(counter.kind, counter.taken);
};

const putBack = <T, E>(counter: Counter<T, E>): number => {
  const all = [...counter.taken, ...counter.pending];
  counter.taken = [];
  counter.pending = all.slice(0, MAX_PENDING);
  return all.length - counter.pending.length;
};

/**
 * Creates a counter that converts refusals to events whose number is limited, so that strangers do not fill the log. The
 * first 100 refusals of a caller in an hour are listed: the first 60 of each minute in one event each, the others in
 * events with many refusals each. Further ones become a count for each caller and ten minutes. From the 101st caller of
 * an hour on, callers are counted together.
 */
export const hourlyCounter = <T, E>(kind: HourlyKind<T, E>): CappedCounter<T, E> => {
  const counter: Counter<T, E> = {
    ...{ kind, hour: '', tenMinutes: '', minute: '', singles: 0 },
    ...{ callers: new Map(), sums: new Map(), pending: [], taken: [] },
  };
  return {
    add: (refused, at) => add(counter, refused, at),
    take: (at, includeCurrent) => take(counter, at, includeCurrent),
    putBack: () => putBack(counter),
    // The counter knows how many refusals of each caller were listed until the hour is over.
    isIdle: (at) => counter.pending.length === 0 && counter.sums.size === 0 && at.slice(0, HOUR_LENGTH) !== counter.hour,
  };
};
