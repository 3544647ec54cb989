export type Bounded<K, V> = { readonly get: (key: K) => V | undefined; readonly set: (key: K, value: V) => void };

/** A map that holds what was used last: at least `capacity` entries, at most twice as many. Two generations make a hit one look-up. */
export const bounded = <K, V>(capacity: number): Bounded<K, V> => {
  let young = new Map<K, V>();
  let old = new Map<K, V>();

  const set = (key: K, value: V): void => {
    young.set(key, value);
    if (young.size < capacity) return;
    old = young;
    young = new Map();
  };

  return {
    get: (key) => {
      const hit = young.get(key);
      if (hit !== undefined) return hit;
      const kept = old.get(key);
      if (kept !== undefined) set(key, kept);
      return kept;
    },
    set,
  };
};
