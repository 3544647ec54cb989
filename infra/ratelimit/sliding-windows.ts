import { counted, emptyWindow, hasRoom, type RateLimit, roomAt, type WindowState } from '../../domain/webhooks/sliding-window.ts';
import { createLruMap } from '../lru-map.ts';

/** A window. `version` is the number of times that the window was counted. */
export type StoredWindow = { readonly key: string; readonly version: number; readonly state: WindowState };

/**
 * The new version of a window, which replaces the previous one. It can be deleted at `expiresAt` (Unix milliseconds).
 */
export type WindowUpdate = StoredWindow & { readonly expiresAt: number };

/** The table of the windows, which all processes share. */
export type WindowTable = {
  /**
   * Reads windows. Stores an empty window for each one that is not in the table.
   * @throws Error if the table is unreachable
   */
  readonly read: (limits: readonly RateLimit[], now: number) => Promise<readonly StoredWindow[]>;
  /**
   * Stores all of these windows. If one of them is stored with another version than the one before its update, none is
   * stored.
   * @returns whether they were stored
   * @throws Error if the table cannot be reached
   */
  readonly store: (updates: readonly WindowUpdate[]) => Promise<boolean>;
};

const CAPACITY = 10_000;
const MAX_ATTEMPTS = 50;
/**
 * While the table cannot be reached, this process counts alone, and tries to reach it again after this many
 * milliseconds.
 */
const RETRY_DELAY_MS = 5_000;
/**
 * The version of a window whose state is not that of the table: this process has not read the window yet, or has
 * counted a delivery in it without the table. Such a window is read from the table before the next count in the table.
 */
const UNREAD = -1;

/**
 * Creates the counter of deliveries in sliding windows. With a table, the processes share the counts, and a delivery is
 * counted when it is stored in the table. Without a table, or while it cannot be reached, each process counts only the
 * deliveries that it receives itself.
 */
export const createSlidingWindows = (table?: WindowTable) => {
  const windows = createLruMap<string, StoredWindow>({ capacity: CAPACITY });
  let retryAt = 0;
  /** For each tenant with deliveries that are being counted, the promise of the last of them. */
  const lastOf = new Map<string, Promise<unknown>>();

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
      // Another process may have counted since the windows were read, so read them again before the delivery is
      // refused.
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

  /**
   * Counts the deliveries of a tenant one after another. If two were counted at the same time, one of them would have to
   * read the windows again. Tenants share no windows, so none waits for another.
   */
  const inTurn = async (tenant: string, count: () => number | null | Promise<number | null>): Promise<number | null> => {
    const taken = (lastOf.get(tenant) ?? Promise.resolve()).then(count);
    lastOf.set(tenant, taken);
    const result = await taken;
    if (lastOf.get(tenant) === taken) lastOf.delete(tenant);
    return result;
  };

  return {
    /**
     * Counts one delivery of a tenant at the time `now` (Unix milliseconds) against all limits. If a limit is reached,
     * the delivery is counted against none. The keys of the windows are unique in the tenant.
     * @returns the index of the first limit that is reached; null if the delivery was counted
     */
    take: (tenant: string, limits: readonly RateLimit[], now: number): number | null | Promise<number | null> => {
      const ofTenant = limits.map((limit) => ({ ...limit, key: `${tenant} ${limit.key}` }));
      return table ? inTurn(tenant, () => takeOrFallBack(ofTenant, now)) : takeAlone(ofTenant, now);
    },
    /** Returns when a limit that `take` has just found reached allows one more delivery at the earliest. */
    roomAt: (tenant: string, limit: RateLimit, now: number): number => roomAt(windowOf(`${tenant} ${limit.key}`).state, limit, now),
  };
};

export type SlidingWindows = ReturnType<typeof createSlidingWindows>;
