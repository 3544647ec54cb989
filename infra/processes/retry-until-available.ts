import type { Logger } from 'pino';
import { createBackoff } from '../backoff.ts';
import { LogError } from '../eventstore/event-log.ts';

const STORE_RETRY_DELAY = { minMs: 25, maxMs: 1_000 };

/**
 * Runs `work`, and repeats it while the event store is unavailable, because the event store may still be starting. Log
 * lines contain `what` as the name of the work.
 */
export const retryUntilAvailable = async <T>(work: () => Promise<T>, logger: Logger, what: string): Promise<T> => {
  for (const backoff = createBackoff(STORE_RETRY_DELAY); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'unavailable') throw error;
      logger.warn(`${what} waits for the event store: ${error.message}`);
      await backoff.wait();
    }
  }
};
