import type { Reads } from '../../projections/read-model.ts';

export type ScopedCache<T> = {
  readonly get: (reads: Reads, key: string) => T | undefined;
  readonly set: (reads: Reads, key: string, value: T) => void;
};

/** What a process remembers beside its views, by key, for each set of views apart. Where it has become too much all of it is forgotten. */
export const scopedCache = <T>(most: number): ScopedCache<T> => {
  const all = new WeakMap<Reads, Map<string, T>>();
  return {
    get: (reads, key) => all.get(reads)?.get(key),
    set: (reads, key, value) => {
      const known = all.get(reads) ?? new Map<string, T>();
      all.set(reads, known);
      if (known.size >= most && !known.has(key)) known.clear();
      known.set(key, value);
    },
  };
};
