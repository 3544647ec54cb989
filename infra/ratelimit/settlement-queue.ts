import type { BucketState } from './bucket-state.ts';

/**
 * The quota table, which all processes share. It has one row for each token bucket. The key of the row is
 * `BucketState.rowKey`.
 */
export type QuotaTable = {
  /**
   * Adds a cost in milliseconds to each of these rows. `costs` and the result are keyed by the row key.
   * @returns for each row, the milliseconds until its bucket is full again
   * @throws Error if the table is unreachable
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

/**
 * Updates a bucket after this process has charged `charged` to its row. `rowFullAt` is the time at which the bucket
 * will be full according to the row. This includes the charges of all processes.
 */
const applyAnswer = (state: BucketState, charged: number, rowFullAt: number): void => {
  state.unsettled -= charged;
  state.fullAt = Math.max(state.fullAt, rowFullAt + state.unsettled);
  state.settledAt = performance.now();
};

/**
 * Limits the amount that this process has not charged to a bucket's row because the table cannot be reached. Tokens
 * that have been refilled since they were taken are not charged: otherwise, the bucket would refuse every request as
 * soon as the table can be reached again.
 */
const limitDebt = (state: BucketState, now: number): void => {
  state.unsettled = Math.min(state.unsettled, Math.max(state.lease, state.fullAt - now));
};

/**
 * Creates the queue of the buckets to settle, which means that their rows are charged with what this process has spent.
 * One statement settles all queued buckets: ten times a second, and at once when `flush` is called. While the table
 * cannot be reached, this is tried once per second. `clock` returns Unix milliseconds.
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
    /** Whether the last attempt failed to reach the table. */
    isDown: (): boolean => isDown,
    isFlushing: (): boolean => flushing !== null,
    enqueue,
    /**
     * Settles the queued buckets. If a settlement is already running, only waits for it. It may not include the buckets
     * that were queued last. The returned promise never rejects.
     */
    flush,
  };
};
