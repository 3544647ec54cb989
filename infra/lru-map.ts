/** Drops the least recently used entries. A value must not be undefined. */
export type LruMap<K, V> = {
  readonly get: (key: K) => V | undefined;
  /** Does not mark the entry as used. */
  readonly peek: (key: K) => V | undefined;
  readonly set: (key: K, value: V) => void;
  readonly delete: (key: K) => void;
  readonly clear: () => void;
};

type Bounds<V> = {
  readonly capacity: number;
  /** The maximum total weight of one generation of entries, in the unit of `weightOf`. */
  readonly maxWeight?: number;
  readonly weightOf?: (value: V) => number;
};

/**
 * New and read entries go into the young generation. When it is full, it replaces the old one, which is dropped. So the map contains at
 * least the `capacity` most recently used entries (fewer if they exceed `maxWeight`), and always fewer than twice `capacity`.
 */
export const createLruMap = <K, V>({ capacity, maxWeight = Number.POSITIVE_INFINITY, weightOf }: Bounds<V>): LruMap<K, V> => {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let weight = 0;

  const subtractWeight = (key: K): void => {
    const replaced = weightOf && young.get(key);
    if (replaced !== undefined) weight -= weightOf!(replaced);
  };

  const set = (key: K, value: V): void => {
    if (weightOf) {
      subtractWeight(key);
      weight += weightOf(value);
    }
    young.set(key, value);
    if (young.size < capacity && weight <= maxWeight) return;
    old = young;
    young = new Map();
    weight = 0;
  };

  return {
    get: (key) => {
      const recent = young.get(key);
      if (recent !== undefined) return recent;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    peek: (key) => young.get(key) ?? old.get(key),
    set,
    delete: (key) => {
      subtractWeight(key);
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young = new Map();
      old = new Map();
      weight = 0;
    },
  };
};
