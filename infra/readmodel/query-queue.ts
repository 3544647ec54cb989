type QueuedQuery<T> = { readonly owner: string; readonly run: () => Promise<T>; readonly result: PromiseWithResolvers<T> };
/** A time limit for a read: `error` returns the error for a read that has no result after `ms` milliseconds. */
export type LateError = { readonly ms: number; readonly error: () => Error };

/** The maximum numbers of queries that run at the same time: in total, and for one owner. */
export type Concurrency = { readonly total: number; readonly perOwner: number };

/**
 * An owner is, for example, a tenant: its slow queries must not delay all others. A caller with the `key` of a queued query shares its
 * result, which is as new, because the query has not started yet. A queued query fails with `late.error` after `late.ms` milliseconds; for
 * one that starts at once, only the driver limits the time.
 */
export const coalesce = <T>(max: Concurrency, late: LateError) => {
  const queued = new Map<string, QueuedQuery<T>>();
  const byOwner = new Map<string, number>();
  let running = 0;
  const mayStart = (owner: string): boolean => running < max.total && (byOwner.get(owner) ?? 0) < max.perOwner;
  const count = (owner: string, change: 1 | -1): void => {
    running += change;
    const left = (byOwner.get(owner) ?? 0) + change;
    if (left === 0) byOwner.delete(owner);
    else byOwner.set(owner, left);
  };

  const next = (): void => {
    for (const [key, { owner, run, result }] of queued) {
      if (running >= max.total) return;
      if (!mayStart(owner)) continue;
      queued.delete(key);
      count(owner, 1);
      run()
        .then(result.resolve, result.reject)
        .finally(() => {
          count(owner, -1);
          next();
        });
    }
  };

  return (owner: string, key: string, run: () => Promise<T>): Promise<T> => {
    const same = queued.get(key);
    if (same) return same.result.promise;
    const result = Promise.withResolvers<T>();
    const entry = { owner, run, result };
    const startsAtOnce = queued.size === 0 && mayStart(owner);
    if (queued.size === 0 || mayStart(owner)) setImmediate(next);
    queued.set(key, entry);
    if (startsAtOnce) return result.promise;
    const timer = setTimeout(() => {
      if (queued.get(key) === entry) queued.delete(key);
      result.reject(late.error());
    }, late.ms);
    return result.promise.finally(() => clearTimeout(timer));
  };
};
