import type { Reads } from '../../projections/read-model.ts';

type BoundedMap<T> = {
  readonly get: (key: string) => T | undefined;
  readonly set: (key: string, value: T) => void;
  readonly delete: (key: string) => void;
};

/** Creates a map with at most `maxEntries` entries. Adding a key to a full map first removes all entries. */
export const boundedMap = <T>(maxEntries: number): BoundedMap<T> => {
  const entries = new Map<string, T>();
  return {
    get: (key) => entries.get(key),
    set: (key, value) => {
      if (entries.size >= maxEntries && !entries.has(key)) entries.clear();
      entries.set(key, value);
    },
    delete: (key) => void entries.delete(key),
  };
};

export type ScopedCache<T> = {
  readonly get: (reads: Reads, key: string) => T | undefined;
  readonly set: (reads: Reads, key: string, value: T) => void;
  readonly delete: (reads: Reads, key: string) => void;
};

/**
 * Creates a cache with a bounded map for each `Reads`, because one process can run several platforms with a `Reads`
 * each.
 */
export const scopedCache = <T>(maxEntries: number): ScopedCache<T> => {
  const maps = new WeakMap<Reads, BoundedMap<T>>();
  return {
    get: (reads, key) => maps.get(reads)?.get(key),
    set: (reads, key, value) => {
      const map = maps.get(reads) ?? boundedMap<T>(maxEntries);
      maps.set(reads, map);
      map.set(key, value);
    },
    delete: (reads, key) => maps.get(reads)?.delete(key),
  };
};
