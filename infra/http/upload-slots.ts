import { Refusal } from '../../domain/refusal.ts';

/** There are also limits for one tenant, and for waiting uploads. */
const MAX_RUNNING = 6;
const MAX_RUNNING_OF_TENANT = 2;
const MAX_WAITING = 24;
const MAX_WAIT_MS = 10_000;

type Waiting = { readonly tenant: string; readonly start: () => void };

const busy = (): Refusal => new Refusal('unavailable', 'Too many files are uploaded at the same time: try again', { retryAfter: 5 });

/**
 * Creates a function that runs the handlers of uploads. An upload is in memory as a whole while it is handled, so only
 * some are handled at the same time. Other uploads wait for at most MAX_WAIT_MS. One tenant cannot use all the slots.
 * @throws Refusal unavailable if no slot becomes free in time, or too many uploads already wait
 */
export const createUploadSlots = () => {
  const running = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let total = 0;

  const mayStart = (tenant: string): boolean => total < MAX_RUNNING && (running.get(tenant) ?? 0) < MAX_RUNNING_OF_TENANT;

  const occupy = (tenant: string): void => {
    total++;
    running.set(tenant, (running.get(tenant) ?? 0) + 1);
  };

  const release = (tenant: string): void => {
    total--;
    const left = running.get(tenant)! - 1;
    if (left === 0) running.delete(tenant);
    else running.set(tenant, left);
    for (const one of waiting) {
      if (!mayStart(one.tenant)) continue;
      waiting.delete(one);
      one.start();
      return;
    }
  };

  const waitForPlace = (tenant: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (waiting.size >= MAX_WAITING) return reject(busy());
      const timer = setTimeout(() => {
        waiting.delete(one);
        reject(busy());
      }, MAX_WAIT_MS);
      const one: Waiting = {
        tenant,
        start: () => {
          clearTimeout(timer);
          occupy(tenant);
          resolve();
        },
      };
      waiting.add(one);
    });

  return async <T>(tenant: string, handle: () => Promise<T>): Promise<T> => {
    if (mayStart(tenant)) occupy(tenant);
    else await waitForPlace(tenant);
    try {
      return await handle();
    } finally {
      release(tenant);
    }
  };
};

export type UploadSlots = ReturnType<typeof createUploadSlots>;
