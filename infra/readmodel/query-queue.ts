type QueuedQuery<T> = { readonly run: () => Promise<T>; readonly result: PromiseWithResolvers<T> };
/** The error of a read that has waited for `ms` milliseconds. */
export type LateError = { readonly ms: number; readonly error: () => Error };

/**
 * Runs at most `maxConcurrent` queries at a time. A caller whose query (by `key`) is already queued shares its result:
 * the query will start after the call, so the result is as fresh as that of a query of its own. A queued query that has
 * no result after `late.ms` milliseconds fails with `late.error`. A query that starts at once has no such limit; the
 * database driver has one.
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
    const own = { run, result };
    const startsAtOnce = queued.size === 0 && running < maxConcurrent;
    if (queued.size === 0) setImmediate(next);
    queued.set(key, own);
    if (startsAtOnce) return result.promise;
    const timer = setTimeout(() => {
      if (queued.get(key) === own) queued.delete(key);
      result.reject(late.error());
    }, late.ms);
    return result.promise.finally(() => clearTimeout(timer));
  };
};
