import { setTimeout as sleep } from 'node:timers/promises';
import type { BucketState } from './bucket-state.ts';
import { createSettlementQueue, type QuotaTable } from './settlement-queue.ts';

/** Within this time every other process has settled what it had spent. */
const OTHERS_SETTLED_MS = 150;

/**
 * Shares token buckets with the other processes through the quota table. A bucket is settled within a tenth of a
 * second, and at once if it has spent half of its lease. Only a request whose bucket has spent a whole lease waits for
 * it; while the table is unreachable, no request waits. `clock` returns Unix milliseconds.
 */
export const createQuotaSync = (table: QuotaTable, clock: () => number = Date.now) => {
  const { isDown, isFlushing, enqueue, flush } = createSettlementQueue(table, clock);

  const readRow = async (state: BucketState): Promise<void> => {
    await sleep(OTHERS_SETTLED_MS);
    const startedAt = performance.now();
    // A second time if the first flush was already under way and did not include this bucket.
    for (let attempts = 0; attempts < 2 && !isDown() && state.settledAt < startedAt; attempts++) {
      enqueue(state);
      await flush();
    }
  };

  return {
    isDown,
    /** Records that a token worth `cost` milliseconds was taken. */
    charge: (state: BucketState, cost: number): void => {
      state.unsettled += cost;
      state.emptySince = null;
      enqueue(state);
      if (state.unsettled * 2 >= state.lease && !isFlushing() && !isDown()) void flush();
    },
    /** Decides as soon as `hasToWait` returns false or the table is unreachable. */
    decideWhenSettled: async <T>(hasToWait: () => boolean, decide: () => T): Promise<T> => {
      while (hasToWait() && !isDown()) await flush();
      return decide();
    },
    /**
     * Reads an empty bucket's row after the other processes have settled what they spent before. Returns at once if
     * that has already happened since the bucket became empty, or if the table is unreachable.
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
