/** A map with bounded memory that keeps the entries used last. A value must not be undefined. */
export type LruMap<K, V> = {
  /** Finds an entry and marks it as used. */
  readonly get: (key: K) => V | undefined;
  /** Finds an entry without marking it as used. */
  readonly peek: (key: K) => V | undefined;
  readonly set: (key: K, value: V) => void;
  readonly delete: (key: K) => void;
  readonly clear: () => void;
};

type Bounds<V> = {
  readonly capacity: number;
  /** The unit is that of `weightOf`. */
  readonly maxWeight?: number;
  readonly weightOf?: (value: V) => number;
};

/**
 * Creates a map of two generations: when the young one is full, it becomes the old one, and the previous old one is
 * dropped. The map keeps at least the `capacity` entries used last and fewer than twice as many; both bounds apply to
 * `maxWeight`, too. Finding an entry of the young generation costs one look-up.
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
