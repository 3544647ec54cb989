import type { Rejection, RejectionEvent } from '../../domain/webhooks/rejection.ts';

const ONE_BY_ONE = 60;
const MAX_CALLERS = 100;
const MAX_PENDING = 1_000;
/** The caller of all those for whom there was no room. */
const OTHERS = 'others';

export type TimedEvent<E = RejectionEvent> = { readonly event: E; readonly at: string };

type Sum = { count: number; first: string; last: string };

/** How something refused becomes an event, alone and summed, and by whom it is summed. */
export type RefusalKind<T, E> = {
  readonly one: (refused: T) => E;
  readonly counted: (sum: Sum & { caller: string }) => E;
  readonly callerOf: (refused: T) => string | null;
  /** What is summed from the first one on. */
  readonly isSummed?: (refused: T) => boolean;
};

/** What one place refused: so many a minute one by one, beyond that how many of which caller, so that nobody fills the log. */
export const cappedCounter = <T, E>({ one, counted, callerOf, isSummed = () => false }: RefusalKind<T, E>) => {
  let minute = '';
  let admitted = 0;
  let pending: TimedEvent<E>[] = [];
  let sums = new Map<string, Sum>();

  const sum = (caller: string, at: string): void => {
    const known = sums.get(caller);
    if (known) {
      known.count++;
      known.last = at;
    } else if (sums.size < MAX_CALLERS || caller === OTHERS) sums.set(caller, { count: 1, first: at, last: at });
    else sum(OTHERS, at);
  };

  const closeMinute = (): void => {
    for (const [caller, sum] of sums) pending.push({ event: counted({ caller, ...sum }), at: sum.last });
    sums = new Map();
    admitted = 0;
  };

  const turn = (at: string): void => {
    if (at.slice(0, 16) === minute) return;
    closeMinute();
    minute = at.slice(0, 16);
  };

  return {
    note: (refused: T, at: string): void => {
      turn(at);
      if (!isSummed(refused) && admitted++ < ONE_BY_ONE) pending.push({ event: one(refused), at });
      else sum(callerOf(refused) ?? OTHERS, at);
    },
    /** What is ready to be recorded; `last`: with the minute that still runs. */
    take: (at: string, last: boolean): readonly TimedEvent<E>[] => {
      turn(at);
      if (last) closeMinute();
      const taken = pending;
      pending = [];
      return taken;
    },
    /** Gives back what could not be recorded; an outage of hours must not fill the memory. */
    giveBack: (noted: readonly TimedEvent<E>[]): void => {
      pending = [...noted, ...pending].slice(0, MAX_PENDING);
    },
    /** Nothing waits, and what the running minute has seen need not be known any more. */
    idle: (at: string): boolean => pending.length === 0 && sums.size === 0 && at.slice(0, 16) !== minute,
  };
};

export type Tally<T, E> = ReturnType<typeof cappedCounter<T, E>>;

const webhooks: RefusalKind<Rejection, RejectionEvent> = {
  one: (data) => ({ type: 'WebhookRejected', data }),
  counted: (data) => ({ type: 'WebhookRejectionsCounted', data }),
  callerOf: ({ ip, reason }) => (reason === 'rate_limited' ? reason : ip),
  isSummed: ({ reason }) => reason === 'rate_limited',
};

/** What one hook rejected. */
export const tally = (): Tally<Rejection, RejectionEvent> => cappedCounter(webhooks);
