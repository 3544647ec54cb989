import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { scopedCache } from './scoped-cache.ts';

/** So long the answer of a change waits for what the views add to it. */
const REFRESH_TIMEOUT_MS = 500;
const MAX_ENTRIES = 10_000;

/** Lets pass that the views are away or behind. @throws what is anything else */
export const ignoreUnavailable = (error: unknown): undefined => {
  if (!(error instanceof Refusal) || (error.code !== 'unavailable' && error.code !== 'not_caught_up')) throw error;
};

/**
 * What the views add to the answer of a change that was made, which must not fail for their sake: where they are away, or take longer than
 * half a second, it is what this process heard of them last about the same id, else `never`.
 */
export const staleIfError = <T>(never: T): ((reads: Reads, id: string, asked: Promise<T>) => Promise<T>) => {
  const known = scopedCache<T>(MAX_ENTRIES);
  return async (reads, id, asked) => {
    const heard = asked.then((figure) => known.set(reads, id, figure), ignoreUnavailable);
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, REFRESH_TIMEOUT_MS);
    await Promise.race([heard, late.promise]).finally(() => clearTimeout(timer));
    return known.get(reads, id) ?? never;
  };
};
