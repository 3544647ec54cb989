import type { StoredRow } from './compiled-projection.ts';

/** Returns a stored row; null or undefined if there is none. */
export type Lookup = (table: string, key: string) => StoredRow | null | undefined;

/**
 * Creates an overlay: the rows that the events of a batch have changed so far. The changes of the present event are
 * kept apart until `commit` adds them or `discard` drops them.
 */
export const createOverlay = (lookup: Lookup) => {
  const rows = new Map<string, Map<string, StoredRow | null>>();
  let uncommitted: [string, string, StoredRow | null][] = [];
  const read = (table: string, key: string): StoredRow | null => {
    for (let index = uncommitted.length - 1; index >= 0; index--) {
      const [name, text, row] = uncommitted[index]!;
      if (text === key && name === table) return row;
    }
    const row = rows.get(table)?.get(key);
    return row === undefined ? (lookup(table, key) ?? null) : row;
  };
  const commit = () => {
    for (const [table, key, row] of uncommitted) {
      const of = rows.get(table) ?? new Map<string, StoredRow | null>();
      rows.set(table, of.set(key, row));
    }
    uncommitted = [];
  };
  return {
    rows,
    read,
    commit,
    render: (render: (table: string, row: StoredRow | null) => StoredRow | null) => {
      uncommitted = uncommitted.map(([table, key, row]) => [table, key, render(table, row)]);
    },
    write: (table: string, key: string, row: StoredRow | null): void => {
      const last = uncommitted.at(-1);
      if (last && last[1] === key && last[0] === table) last[2] = row;
      else uncommitted.push([table, key, row]);
    },
    discard: () => {
      uncommitted = [];
    },
  };
};

export type Overlay = ReturnType<typeof createOverlay>;
