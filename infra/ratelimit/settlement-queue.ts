import type { BucketState } from './bucket-state.ts';

/** Shared by all processes: one row for each token bucket, by `BucketState.rowKey`. */
export type QuotaTable = {
  /**
   * `costs`, in milliseconds, and the result are by row key. Returns the milliseconds until each bucket is full again.
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

/** `charged` is what was charged to the row. `rowFullAt` comes from the row, and includes the charges of all processes. */
const applyAnswer = (state: BucketState, charged: number, rowFullAt: number): void => {
  state.unsettled -= charged;
  state.fullAt = Math.max(state.fullAt, rowFullAt + state.unsettled);
  state.settledAt = performance.now();
};

/**
 * Used while the table cannot be reached. Refilled tokens are not charged: otherwise, the bucket would refuse every request as soon as the
 * table can be reached again.
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
    /** If a settlement is running, only waits for it; it may lack the buckets queued last. Never rejects. */
    flush,
  };
};
