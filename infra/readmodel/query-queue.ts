type QueuedQuery<T> = { readonly run: () => Promise<T>; readonly result: PromiseWithResolvers<T> };
/** The error for a read that has no result after `ms` milliseconds. */
export type LateError = { readonly ms: number; readonly error: () => Error };

/**
 * Runs at most `maxConcurrent` queries at a time and queues the others. If a query with the same `key` is already
 * queued, the caller shares its result. This is as fresh as a query of the caller's own, because the queued query has
 * not started yet. A queued query fails with `late.error` if it has no result after `late.ms` milliseconds. A query
 * that starts at once has no such limit: the database driver limits its time.
 */
export const coalesce = <T>(maxConcurrent: number, late: LateError): ((key: string, run: () => Promise<T>) => Promise<T>) => {
  const queued = new Map<string, QueuedQuery<T>>();
  let running = 0;

  const next = (): void => {
    for (const [key, { run, result }] of queued) {
      if (running >= maxConcurrent) return;
      queued.delete(key);
      running++;
      run()
        .then(result.resolve, result.reject)
        .finally(() => {
          running--;
          next();
        });
    }
  };

  return (key, run) => {
    const same = queued.get(key);
    if (same) return same.result.promise;
    const result = Promise.withResolvers<T>();
    const entry = { run, result };
    const startsAtOnce = queued.size === 0 && running < maxConcurrent;
    if (queued.size === 0) setImmediate(next);
    queued.set(key, entry);
    if (startsAtOnce) return result.promise;
    const timer = setTimeout(() => {
      if (queued.get(key) === entry) queued.delete(key);
      result.reject(late.error());
    }, late.ms);
    return result.promise.finally(() => clearTimeout(timer));
  };
};
