import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { scopedCache } from './scoped-cache.ts';

/** The response to a mutation waits at most this many milliseconds for data from the read models. */
const REFRESH_TIMEOUT_MS = 500;
const MAX_ENTRIES = 10_000;

/** Returns undefined for the error that the read models are unavailable or lag behind. @throws every other error */
export const ignoreUnavailable = (error: unknown): undefined => {
  if (!(error instanceof Refusal) || (error.code !== 'unavailable' && error.code !== 'not_caught_up')) throw error;
};

/**
 * Creates a function that gets data from the read models for the response to a mutation. The mutation is already
 * recorded, so the request must not fail because of the read models. If they are unavailable or take longer than
 * REFRESH_TIMEOUT_MS, the function returns the last value that this process has loaded for the id or, if there is none,
 * `fallback`.
 */
export const staleIfError = <T>(fallback: T): ((reads: Reads, id: string, loading: Promise<T>) => Promise<T>) => {
  const lastValues = scopedCache<T>(MAX_ENTRIES);
  return async (reads, id, loading) => {
    const loaded = loading.then((value) => lastValues.set(reads, id, value), ignoreUnavailable);
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, REFRESH_TIMEOUT_MS);
    await Promise.race([loaded, timeout.promise]).finally(() => clearTimeout(timer));
    return lastValues.get(reads, id) ?? fallback;
  };
};
