import { setTimeout as sleep } from 'node:timers/promises';
import type { BucketState } from './bucket-state.ts';
import { createSettlementQueue, type QuotaTable } from './settlement-queue.ts';

/** The time within which every other process charges the tokens that it has taken, in milliseconds. */
const OTHERS_SETTLED_MS = 150;

/**
 * Tokens are charged to the table within a tenth of a second, or at once if they are half a lease. A request waits only if this process has
 * an uncharged whole lease of the bucket, and never while the table cannot be reached. `clock` returns Unix milliseconds.
 */
export const createQuotaSync = (table: QuotaTable, clock: () => number = Date.now) => {
  const { isDown, isFlushing, enqueue, flush } = createSettlementQueue(table, clock);

  const readRow = async (state: BucketState): Promise<void> => {
    await sleep(OTHERS_SETTLED_MS);
    const startedAt = performance.now();
    // A flush that was already running may lack this bucket: then flush again.
    for (let attempts = 0; attempts < 2 && !isDown() && state.settledAt < startedAt; attempts++) {
      enqueue(state);
      await flush();
    }
  };

  return {
    isDown,
    /** `cost` is the time in which the bucket refills the taken token, in milliseconds. */
    charge: (state: BucketState, cost: number): void => {
      state.unsettled += cost;
      state.emptySince = null;
      enqueue(state);
      if (state.unsettled * 2 >= state.lease && !isFlushing() && !isDown()) void flush();
    },
    /** Waits until `hasToWait` returns false or the quota table is unreachable. Returns the result of `decide`. */
    decideWhenSettled: async <T>(hasToWait: () => boolean, decide: () => T): Promise<T> => {
      while (hasToWait() && !isDown()) await flush();
      return decide();
    },
    /**
     * Updates an empty bucket from its row in the quota table, after waiting until the other processes have charged the
     * tokens that they had taken. Does nothing if this was already done since the bucket became empty, or if the table
     * cannot be reached.
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
