import { counted, emptyWindow, hasRoom, type RateLimit, roomAt, type WindowState } from '../../domain/guardrails/sliding-window.ts';
import { createLruMap } from '../lru-map.ts';

/** `version` is how often the window was counted. */
export type StoredWindow = { readonly key: string; readonly version: number; readonly state: WindowState };

/** Replaces the previous version. Can be deleted at `expiresAt` (Unix milliseconds). */
export type WindowUpdate = StoredWindow & { readonly expiresAt: number };

/** The table of the windows, which all processes share. */
export type WindowTable = {
  /** Stores an empty window for each missing one. @throws Error if the table is unreachable */
  readonly read: (limits: readonly RateLimit[], now: number) => Promise<readonly StoredWindow[]>;
  /**
   * Stores all or none: none if one is stored with another version than the one before its update. Returns whether they were stored.
   * @throws Error if the table cannot be reached
   */
  readonly store: (updates: readonly WindowUpdate[]) => Promise<boolean>;
};

const CAPACITY = 10_000;
const MAX_ATTEMPTS = 50;
/** In milliseconds, while the table cannot be reached. Meanwhile, this process counts alone. */
const RETRY_DELAY_MS = 5_000;
/** This process has not read the window yet, or has counted without the table: read it before the next count in the table. */
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

  /** -1 if no limit is reached. */
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
      // Another process may have counted meanwhile, so read again before the delivery is refused.
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

  /** Two counts of a tenant at the same time would make one of them read again. Tenants share no windows, so none waits for another. */
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
