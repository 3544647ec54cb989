import type { Rejection, RejectionEvent } from '../../domain/rejection.ts';

const ONE_BY_ONE = 60;
const MOST_CALLERS = 100;
const MOST_PENDING = 1_000;
/** The caller of all those for whom there was no room. */
const OTHERS = 'others';

export type Noted = { readonly event: RejectionEvent; readonly at: string };

type Sum = { count: number; first: string; last: string };

/** What one hook rejected: so many a minute one by one, beyond that how many of which caller, so that nobody fills the log. */
export const tally = () => {
  let minute = '';
  let admitted = 0;
  let pending: Noted[] = [];
  let sums = new Map<string, Sum>();

  const sum = (caller: string, at: string): void => {
    const known = sums.get(caller);
    if (known) {
      known.count++;
      known.last = at;
    } else if (sums.size < MOST_CALLERS || caller === OTHERS) sums.set(caller, { count: 1, first: at, last: at });
    else sum(OTHERS, at);
  };

  const closeMinute = (): void => {
    for (const [caller, counted] of sums) {
      pending.push({ event: { type: 'WebhookRejectionsCounted', data: { caller, ...counted } }, at: counted.last });
    }
    sums = new Map();
    admitted = 0;
  };

  const turn = (at: string): void => {
    if (at.slice(0, 16) === minute) return;
    closeMinute();
    minute = at.slice(0, 16);
  };

  return {
    note: (rejection: Rejection, at: string): void => {
      turn(at);
      if (admitted++ < ONE_BY_ONE) pending.push({ event: { type: 'WebhookRejected', data: rejection }, at });
      else sum(rejection.ip ?? OTHERS, at);
    },
    /** What is ready to be recorded; `last`: with the minute that still runs. */
    take: (at: string, last: boolean): readonly Noted[] => {
      turn(at);
      if (last) closeMinute();
      const taken = pending;
      pending = [];
      return taken;
    },
    /** Gives back what could not be recorded; an outage of hours must not fill the memory. */
    giveBack: (noted: readonly Noted[]): void => {
      pending = [...noted, ...pending].slice(0, MOST_PENDING);
    },
    /** Nothing waits, and what the running minute has seen need not be known any more. */
    idle: (at: string): boolean => pending.length === 0 && sums.size === 0 && at.slice(0, 16) !== minute,
  };
};

export type Tally = ReturnType<typeof tally>;
