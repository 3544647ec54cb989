import type { StoredRow } from '../../projections/engine/compiled-projection.ts';

/**
 * The cache of the rows of one projection, which its writer keeps between batches. The least recently used rows are
 * evicted first.
 */
export type RowCache = {
  /** Returns the cached row; null if the table is known to have no such row; undefined if the table must be queried. */
  readonly get: (table: string, key: string) => StoredRow | null | undefined;
  readonly set: (table: string, key: string, row: StoredRow | null) => void;
  /** Removes all rows. Other caches can then use their memory. */
  readonly clear: () => void;
};

/**
 * The memory that all row caches of this process share, in characters of the rows' documents. Each cache can use
 * `minPerCache`, even if other caches have used up `max`.
 */
export type RowBudget = { used: number; readonly max: number; readonly minPerCache: number };

export const openRowBudget = (max = 64_000_000, minPerCache = 1_000_000): RowBudget => ({ used: 0, max, minPerCache });

const MIN_ROW_WEIGHT = 256;
const weightOf = (row: StoredRow | null): number =>
  row ? row.docs.reduce((sum, doc) => sum + doc.length, MIN_ROW_WEIGHT) : MIN_ROW_WEIGHT;

/**
 * Opens a cache. `isComplete` must be true if the tables are empty now. Until its first eviction, such a cache contains
 * every row. So a row that is not in the cache does not exist.
 */
export const openRowCache = (budget: RowBudget, isComplete: boolean): RowCache => {
  const rows = new Map<string, StoredRow | null>();
  const nameOf = (table: string, key: string): string => `${table}\0${key}`;
  let used = 0;
  let complete = isComplete;
  /**
   * Iterates over the names of the cached rows, the least recently used first. All evictions use the same iterator. A
   * new iterator would have to skip every entry that was deleted from the map.
   */
  let oldest = rows.keys();

  const charge = (weight: number): void => {
    used += weight;
    budget.used += weight;
  };
  const evict = (name: string): void => {
    const row = rows.get(name);
    if (row === undefined) return;
    charge(-weightOf(row));
    rows.delete(name);
  };
  return {
    get: (table, key) => {
      const name = nameOf(table, key);
      const row = rows.get(name);
      if (row === undefined) return complete ? null : undefined;
      if (complete) return row;
      rows.delete(name);
      rows.set(name, row);
      return row;
    },
    set: (table, key, row) => {
      const name = nameOf(table, key);
      evict(name);
      if (row === null && complete) return;
      rows.set(name, row);
      charge(weightOf(row));
      while (used > budget.minPerCache && budget.used > budget.max) {
        const first = oldest.next();
        if (first.done) oldest = rows.keys();
        else evict(first.value);
        complete = false;
      }
    },
    clear: () => {
      rows.clear();
      charge(-used);
      complete = false;
    },
  };
};
