import type { BucketState } from './bucket-state.ts';

/** The rows that all processes share, one for each key. */
export type QuotaTable = {
  /**
   * Charges rows with milliseconds of their windows. @returns in how many milliseconds each row is full again @throws
   * if unreachable
   */
  readonly charge: (costs: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;
};

const SETTLE_DELAY_MS = 100;
const RETRY_DELAY_MS = 1_000;

const sumsOf = (states: readonly BucketState[]): Map<string, number> => {
  const sums = new Map<string, number>();
  for (const { rowKey, unsettled } of states) sums.set(rowKey, (sums.get(rowKey) ?? 0) + unsettled);
  return sums;
};

/** Takes over what the row knows of all processes. `charged` is what the row has now been charged with. */
const applyAnswer = (state: BucketState, charged: number, rowFullAt: number): void => {
  state.unsettled -= charged;
  state.fullAt = Math.max(state.fullAt, rowFullAt + state.unsettled);
  state.settledAt = performance.now();
};

/**
 * Forgets the debt that has been refilled since. Otherwise the rows would refuse every request when they are reachable
 * again.
 */
const limitDebt = (state: BucketState, now: number): void => {
  state.unsettled = Math.min(state.unsettled, Math.max(state.lease, state.fullAt - now));
};

/**
 * Settles queued buckets with their rows, all of them in one statement: ten times a second, and at once on `flush`.
 * While the table is unreachable, it makes one attempt per second. `clock` returns Unix milliseconds.
 */
export const createSettlementQueue = (table: QuotaTable, clock: () => number) => {
  let queued: BucketState[] = [];
  let flushing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isDown = false;

  const schedule = (): void => {
    if (queued.length > 0) timer ??= setTimeout(flush, isDown ? RETRY_DELAY_MS : SETTLE_DELAY_MS).unref();
  };

  const enqueue = (state: BucketState): void => {
    if (!state.isQueued) queued.push(state);
    state.isQueued = true;
    schedule();
  };

  const settle = async (): Promise<void> => {
    const states = queued;
    queued = [];
    for (const state of states) state.isQueued = false;
    const charged = states.map(({ unsettled }) => unsettled);
    const sentAt = clock();
    try {
      const aheads = await table.charge(sumsOf(states));
      isDown = false;
      for (const [index, state] of states.entries()) applyAnswer(state, charged[index]!, sentAt + (aheads.get(state.rowKey) ?? 0));
    } catch {
      isDown = true;
      for (const state of states) limitDebt(state, clock());
      for (const state of states) enqueue(state);
    }
  };

  const flush = (): Promise<void> => {
    if (flushing) return flushing;
    clearTimeout(timer);
    timer = undefined;
    flushing = settle().finally(() => {
      flushing = null;
      schedule();
    });
    return flushing;
  };

  return {
    /** Whether the last attempt did not reach the table. */
    isDown: (): boolean => isDown,
    isFlushing: (): boolean => flushing !== null,
    enqueue,
    /**
     * Settles what is queued, or waits for the settlement under way, which may not include what was queued last. Never
     * rejects.
     */
    flush,
  };
};
