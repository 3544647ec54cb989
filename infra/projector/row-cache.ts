import type { StoredRow } from '../../projections/engine/compiled-projection.ts';

/** Rows kept between batches, which one writer may: the least recently used ones leave first. */
export type RowCache = {
  /** undefined: not known here; null: known to be absent. */
  readonly get: (table: string, key: string) => StoredRow | null | undefined;
  readonly set: (table: string, key: string, held: StoredRow | null) => void;
  /** Gives its room back. */
  readonly clear: () => void;
};

/** Room for rows, in characters of their documents: one for all projections of a process, so that its memory stays flat. */
export type RowBudget = { used: number; readonly most: number; readonly least: number };

/** `most` for all together; each cache may hold `least` however full the others are. */
export const openRowBudget = (most = 64_000_000, least = 1_000_000): RowBudget => ({ used: 0, most, least });

const MIN_ROW_WEIGHT = 256;
const sizeOf = (held: StoredRow | null): number =>
  held ? held.docs.reduce((sum, doc) => sum + doc.length, MIN_ROW_WEIGHT) : MIN_ROW_WEIGHT;

/** Opens a cache. `complete`: the tables are empty now, so that what is not here is nowhere, until the first row has had to leave. */
export const rowCache = (room: RowBudget, complete: boolean): RowCache => {
  const rows = new Map<string, StoredRow | null>();
  const nameOf = (table: string, key: string): string => `${table}\0${key}`;
  let used = 0;
  let whole = complete;
  /** Goes on where it stood: from the beginning it would pass over every row that has left since the map was last laid out anew. */
  let oldest = rows.keys();

  const take = (size: number): void => {
    used += size;
    room.used += size;
  };
  const drop = (name: string): void => {
    const held = rows.get(name);
    if (held === undefined) return;
    take(-sizeOf(held));
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
      take(sizeOf(held));
      while (used > room.least && room.used > room.most) {
        const first = oldest.next();
        if (first.done) oldest = rows.keys();
        else drop(first.value);
        whole = false;
      }
    },
    clear: () => {
      rows.clear();
      take(-used);
      whole = false;
    },
  };
};
