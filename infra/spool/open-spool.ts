import type { Logger } from 'pino';
import type { SpoolPage } from './spool-file.ts';
import type { SpoolStatus, SpoolStorageOptions, WaitingEntry } from './spool-storage.ts';
import { openSpoolThread } from './spool-thread.ts';
import type { SpoolEntry } from './spooled-delivery.ts';
import { createWriteQueue, type PutResult } from './write-queue.ts';

const ADOPT_INTERVAL_MS = 5_000;
const NO_STATUS: SpoolStatus = { rows: 0, bytes: 0, parked: 0, oldestAt: null, canTake: false, largestBytes: 0, refusedShares: 0 };

/** A durable queue of the deliveries that the event store could not record. It is stored in a file of this process. */
export type Spool = {
  /** Resolves when the file is open, or cannot be opened. Until then, `hasWaiting` does not know what the file contains. */
  readonly opened: Promise<void>;
  /** Resolves when the delivery is safely on the disk, or cannot be written; never rejects. */
  readonly put: (entry: SpoolEntry) => Promise<PutResult>;
  /** If deliveries of this integration wait, later ones must also go into the spool, to keep the order. */
  readonly hasWaiting: (integration: string) => boolean;
  /** One delivery counts as recorded. `remove` removes its row later. */
  readonly settle: (integration: string) => void;
  /** Returns the entries that have waited longest, in the order of `put`. @throws Error if the file cannot be read */
  readonly first: (page: SpoolPage) => Promise<WaitingEntry[]>;
  /** @throws Error if the file cannot be written; the rows then still exist */
  readonly remove: (seqs: readonly number[]) => Promise<void>;
  /** Keeps a delivery for the operator, without trying to record it again. @throws Error */
  readonly park: (seq: number, reason: string) => Promise<void>;
  readonly status: () => SpoolStatus;
  /** Resolves when deliveries wait, or the signal is aborted. */
  readonly untilFilled: (signal: AbortSignal) => Promise<void>;
  /** Closes the file. The deliveries in the file are recorded after the next start, or by another process. */
  readonly close: () => Promise<void>;
};

export type SpoolOptions = SpoolStorageOptions & { readonly logger: Pick<Logger, 'warn'> };

/** Creates a counter of the waiting deliveries of each integration. */
const createWaitingCounts = () => {
  const counts = new Map<string, number>();
  const add = (integration: string, rows: number): void => {
    const sum = (counts.get(integration) ?? 0) + rows;
    if (sum > 0) counts.set(integration, sum);
    else counts.delete(integration);
  };
  return { add, has: (integration: string): boolean => counts.size > 0 && counts.has(integration), clear: () => counts.clear() };
};

/** `give` resolves all pending promises. */
const createWakeUp = () => {
  const waiting = new Set<() => void>();
  return {
    give: (): void => {
      for (const wake of waiting) wake();
    },
    wait: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake);
      }),
  };
};

/**
 * A file that this process locks. Files of processes that have ended are taken over. Every delivery is refused while the file is not open.
 */
export const openSpool = ({ logger, ...storage }: SpoolOptions): Spool => {
  const waiting = createWaitingCounts();
  const filled = createWakeUp();
  let status = NO_STATUS;
  let isClosed = false;
  const opening = Promise.withResolvers<void>();

  const thread = openSpoolThread({
    storage,
    logger,
    onOpen: (counts) => {
      for (const [integration, rows] of counts) waiting.add(integration, rows);
      opening.resolve();
      void adopt();
    },
    onStatus: (next) => {
      status = next ?? NO_STATUS;
      // The thread has ended. When it runs again, it sends the counts of the stored rows.
      if (!next) waiting.clear();
      if (!next) opening.resolve();
      if (status.rows > 0) filled.give();
    },
  });

  const queue = createWriteQueue({
    write: (entries) =>
      thread.ask('put', entries).catch((error: Error) => {
        logger.warn({ error: error.message, deliveries: entries.length }, 'deliveries could not be written to the spool');
        throw error;
      }),
    onResult: ({ integration }, result) => result !== 'stored' && waiting.add(integration, -1),
  });

  const adopt = async (): Promise<void> => {
    const adopted = await thread.ask('adopt').catch(() => []);
    for (const integration of adopted) waiting.add(integration, 1);
    if (adopted.length > 0 && !isClosed) return adopt();
  };
  const adoption = setInterval(() => void adopt(), ADOPT_INTERVAL_MS).unref();

  return {
    opened: opening.promise,
    put: (entry) => {
      if (isClosed || !thread.isRunning() || !queue.hasRoom(entry)) return Promise.resolve('refused');
      waiting.add(entry.integration, 1);
      return queue.put(entry);
    },
    hasWaiting: waiting.has,
    settle: (integration) => waiting.add(integration, -1),
    first: (page) => thread.ask('first', page),
    remove: (seqs) => thread.ask('remove', seqs),
    park: (seq, reason) => thread.ask('park', { seq, reason }),
    status: () => status,
    untilFilled: async (signal) => {
      while (status.rows === 0 && !signal.aborted) await filled.wait(signal);
    },
    close: async () => {
      isClosed = true;
      clearInterval(adoption);
      await thread.close();
    },
  };
};
