import { setTimeout as sleep } from 'node:timers/promises';
import type { BucketState } from './bucket-state.ts';
import { createSettlementQueue, type QuotaTable } from './settlement-queue.ts';

/** Within this time, every other process charges the shared row with what it has spent. */
const OTHERS_SETTLED_MS = 150;

/**
 * Shares token buckets with the other processes through the quota table. The tokens taken from a bucket are charged to
 * the table within a tenth of a second, or at once if they are half a lease. A request waits for the charge only if its
 * bucket has spent a whole lease. While the table is unreachable, no request waits. `clock` returns Unix milliseconds.
 */
export const createQuotaSync = (table: QuotaTable, clock: () => number = Date.now) => {
  const { isDown, isFlushing, enqueue, flush } = createSettlementQueue(table, clock);

  const readRow = async (state: BucketState): Promise<void> => {
    await sleep(OTHERS_SETTLED_MS);
    const startedAt = performance.now();
    // Try twice: a flush that was already running may not have included this bucket.
    for (let attempts = 0; attempts < 2 && !isDown() && state.settledAt < startedAt; attempts++) {
      enqueue(state);
      await flush();
    }
  };

  return {
    isDown,
    /** Records that a token was taken. `cost` is the time in which it is refilled, in milliseconds. */
    charge: (state: BucketState, cost: number): void => {
      state.unsettled += cost;
      state.emptySince = null;
      enqueue(state);
      if (state.unsettled * 2 >= state.lease && !isFlushing() && !isDown()) void flush();
    },
    /** Waits until `hasToWait` returns false or the table is unreachable, then decides. */
    decideWhenSettled: async <T>(hasToWait: () => boolean, decide: () => T): Promise<T> => {
      while (hasToWait() && !isDown()) await flush();
      return decide();
    },
    /**
     * Reads the shared row of an empty bucket, after the other processes have charged what they spent before. Does
     * nothing if that has already happened since the bucket became empty, or if the table is unreachable.
     */
    refresh: (state: BucketState): Promise<void> => {
      state.emptySince ??= performance.now();
      if (isDown() || state.settledAt >= state.emptySince + OTHERS_SETTLED_MS) return Promise.resolve();
      state.refreshing ??= readRow(state).finally(() => {
        state.refreshing = null;
      });
      return state.refreshing;
    },
  };
};

export type QuotaSync = ReturnType<typeof createQuotaSync>;
