import { counted, emptyWindow, hasRoom, type RateLimit, type WindowState } from '../../domain/webhooks/sliding-window.ts';
import { createLruMap } from '../lru-map.ts';

/** A window, and the number of times it has been counted. */
export type StoredWindow = { readonly key: string; readonly version: number; readonly state: WindowState };

/** A window to store in place of its previous version. It can be deleted at `expiresAt` (Unix milliseconds). */
export type WindowUpdate = StoredWindow & { readonly expiresAt: number };

/** The table of the windows, which all processes share. */
export type WindowTable = {
  /**
   * Reads windows. Windows that are not in the table are stored as empty ones.
   * @throws Error if the table is unreachable
   */
  readonly read: (limits: readonly RateLimit[], now: number) => Promise<readonly StoredWindow[]>;
  /**
   * Stores all these windows, or none if the stored version of one of them is not the previous version of its update.
   * @returns whether they were stored
   * @throws Error if the table is unreachable
   */
  readonly store: (updates: readonly WindowUpdate[]) => Promise<boolean>;
};

const CAPACITY = 10_000;
const MAX_ATTEMPTS = 50;
/**
 * While the table is unreachable, this process counts alone, and tries to reach the table again at this interval, in
 * milliseconds.
 */
const RETRY_DELAY_MS = 5_000;
/** The version of a window that this process has not read, or has counted alone. */
const UNREAD = -1;

/**
 * Creates the counter of deliveries in sliding windows. With a table, the processes share the counts: a delivery is
 * counted when the table has stored it. Without a table, or while it is unreachable, each process counts only its own
 * deliveries.
 */
export const createSlidingWindows = (table?: WindowTable) => {
  const windows = createLruMap<string, StoredWindow>({ capacity: CAPACITY });
  let retryAt = 0;
  let last: Promise<unknown> = Promise.resolve();

  const windowOf = (key: string): StoredWindow => windows.get(key) ?? { key, version: UNREAD, state: emptyWindow };

  /** Returns the index of the first limit that is reached; -1 if none is. */
  const reachedLimit = (limits: readonly RateLimit[], now: number): number =>
    limits.findIndex((limit) => !hasRoom(windowOf(limit.key).state, limit, now));

  const countAll = (limits: readonly RateLimit[], now: number): WindowUpdate[] =>
    limits.map((limit) => {
      const { key, version, state } = windowOf(limit.key);
      return { key, version: version + 1, state: counted(state, limit, now), expiresAt: now + limit.windowMs };
    });

  const remember = (read: readonly StoredWindow[]): void => {
    for (const { key, version, state } of read) windows.set(key, { key, version, state });
  };

  const takeAlone = (limits: readonly RateLimit[], now: number): number | null => {
    const reached = reachedLimit(limits, now);
    if (reached >= 0) return reached;
    remember(countAll(limits, now).map((update) => ({ ...update, version: UNREAD })));
    return null;
  };

  const takeShared = async (limits: readonly RateLimit[], now: number): Promise<number | null> => {
    const isRead = limits.every(({ key }) => windowOf(key).version !== UNREAD);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      // Another process may have counted since. So if this process would refuse the delivery, it reads the windows
      // again.
      if (attempt > 0 || !isRead || reachedLimit(limits, now) >= 0) remember(await table!.read(limits, now));
      const reached = reachedLimit(limits, now);
      if (reached >= 0) return reached;
      const updates = countAll(limits, now);
      if (await table!.store(updates)) {
        remember(updates);
        return null;
      }
    }
    return takeAlone(limits, now);
  };

  const takeOrFallBack = (limits: readonly RateLimit[], now: number): number | null | Promise<number | null> => {
    if (!table || performance.now() < retryAt) return takeAlone(limits, now);
    return takeShared(limits, now).catch(() => {
      retryAt = performance.now() + RETRY_DELAY_MS;
      return takeAlone(limits, now);
    });
  };

  return {
    /**
     * Counts one delivery at the time `now` (Unix milliseconds) against all limits. If one is reached, counts it
     * against none.
     * @returns the index of the first limit that is reached; null if the delivery was counted
     */
    take: (limits: readonly RateLimit[], now: number): number | null | Promise<number | null> => {
      if (!table) return takeAlone(limits, now);
      // Deliveries are counted one after another: two at the same time would only force each other to read again.
      const taken = last.then(() => takeOrFallBack(limits, now));
      last = taken;
      return taken;
    },
  };
};

export type SlidingWindows = ReturnType<typeof createSlidingWindows>;
