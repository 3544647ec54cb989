import type { Ctx } from './operation.ts';
import { scopedCache } from './scoped-cache.ts';

/** Creates a function that reads a value, and caches it for `ms` milliseconds for all callers with the same key. A failed read is not cached. */
export const reuse = <T>(ms: number, maxEntries: number) => {
  const cache = scopedCache<{ readonly at: number; readonly value: Promise<T> }>(maxEntries);
  return ({ reads, at }: Pick<Ctx, 'reads' | 'at'>, key: string, read: () => Promise<T>): Promise<T> => {
    const now = Date.parse(at());
    const last = cache.get(reads, key);
    // The clock can be set back.
    if (last && Math.abs(now - last.at) < ms) return last.value;
    const entry = { at: now, value: read() };
    cache.set(reads, key, entry);
    entry.value.catch(() => {
      if (cache.get(reads, key) === entry) cache.delete(reads, key);
    });
    return entry.value;
  };
};
