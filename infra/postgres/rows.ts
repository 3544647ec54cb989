import type { Held } from '../../projections/plan.ts';

/** Rows kept between batches, which one writer may: the least recently used ones leave first. */
export type RowCache = {
  /** undefined: not known here; null: known to be absent. */
  readonly get: (table: string, key: string) => Held | null | undefined;
  readonly set: (table: string, key: string, held: Held | null) => void;
  readonly clear: () => void;
};

const SMALLEST = 256;
const sizeOf = (held: Held | null): number => (held ? held.docs.reduce((sum, doc) => sum + doc.length, SMALLEST) : SMALLEST);

/**
 * Opens a cache of at most `characters` of documents. `complete`: the tables are empty now, so that what is not here is nowhere,
 * until the first row has had to leave.
 */
export const rowCache = (characters: number, complete: boolean): RowCache => {
  const rows = new Map<string, Held | null>();
  const nameOf = (table: string, key: string): string => `${table}\0${key}`;
  let used = 0;
  let whole = complete;

  const drop = (name: string): void => {
    const held = rows.get(name);
    if (held === undefined) return;
    used -= sizeOf(held);
    rows.delete(name);
  };
  return {
    get: (table, key) => {
      const name = nameOf(table, key);
      const held = rows.get(name);
      if (held === undefined) return whole ? null : undefined;
      if (whole) return held;
      rows.delete(name);
      rows.set(name, held);
      return held;
    },
    set: (table, key, held) => {
      const name = nameOf(table, key);
      drop(name);
      if (held === null && whole) return;
      rows.set(name, held);
      used += sizeOf(held);
      for (const oldest of rows.keys()) {
        if (used <= characters) return;
        whole = false;
        drop(oldest);
      }
    },
    clear: () => {
      rows.clear();
      used = 0;
      whole = false;
    },
  };
};
