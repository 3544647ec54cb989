import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { writeCursor } from '../cursor.ts';
import type { AnyProjection } from '../projection.ts';
import { DOC_SEPARATOR, type Reads, type Source } from '../read-model.ts';
import { applyChanges, collectChanges, type RowFilter, type Unapplied } from './apply-changes.ts';
import { type CompiledProjection, compileProjection, type StoredRow } from './compiled-projection.ts';
import { pageOf } from './memory-query.ts';

/** Projections kept in maps: for tests without a database, `as_of` reads, comparison and drift. */
export type MemoryStore = {
  /** Applies events in log order; those of categories that no projection follows only move the position. */
  readonly feed: (events: readonly Recorded[]) => void;
  readonly reads: Reads;
  /** The rows of one table by key text, hidden ones too. */
  readonly rows: (projection: string, table: string) => ReadonlyMap<string, StoredRow>;
  readonly unapplied: (projection: string) => readonly Unapplied[];
};

type Kept = {
  readonly plan: CompiledProjection;
  readonly tables: Map<string, Map<string, StoredRow>>;
  readonly unapplied: Unapplied[];
  readonly blocked: Set<string>;
};

const keep = (projection: AnyProjection): Kept => ({
  plan: compileProjection(projection),
  tables: new Map(projection.tables.map(({ name }) => [name, new Map()])),
  unapplied: [],
  blocked: new Set(),
});

const feedOne = ({ plan, tables, unapplied, blocked }: Kept, events: readonly Recorded[], only?: RowFilter): void => {
  const settled = applyChanges(plan, collectChanges(plan, events, only), (table, key) => tables.get(table)!.get(key), blocked);
  for (const [table, rows] of settled.writes)
    for (const [key, held] of rows) held ? tables.get(table)!.set(key, held) : tables.get(table)!.delete(key);
  for (const one of settled.unapplied) {
    unapplied.push(one);
    blocked.add(one.event.stream);
  }
};

const shown = ({ table }: Source, held: StoredRow | undefined): StoredRow | null =>
  held && !(table.softDelete && held.row[table.softDelete]) ? held : null;

/** Opens an empty sink over these projections; with `only`, of the rows that it names alone. */
export const openMemoryStore = (projections: readonly AnyProjection[], only?: RowFilter): MemoryStore => {
  const kept = new Map(projections.map((projection) => [projection.name, keep(projection)]));
  const waiting = new Set<() => void>();
  let position: Position | null = null;

  const of = (projection: string): Kept => {
    const found = kept.get(projection);
    if (!found) throw new Error(`there is no projection ${projection}`);
    return found;
  };
  const rowsOf = (projection: string, table: string): Map<string, StoredRow> => {
    const rows = of(projection).tables.get(table);
    if (!rows) throw new Error(`projection ${projection} has no table ${table}`);
    return rows;
  };
  const find = (from: Source, key: Readonly<Record<string, string>>): StoredRow | null => {
    const rows = rowsOf(from.projection, from.table.name);
    const names = Object.keys(key);
    if (from.table.key.every((name) => name in key)) {
      const held = rows.get(of(from.projection).plan.tables.get(from.table.name)!.keyText(key));
      return shown(from, held && names.every((name) => held.row[name] === key[name]) ? held : undefined);
    }
    for (const held of rows.values()) if (shown(from, held) && names.every((name) => held.row[name] === key[name])) return held;
    return null;
  };
  const docIndex = ({ table }: Source, doc: string | undefined): number => {
    const index = doc === undefined ? 0 : Object.keys(table.docs).indexOf(doc);
    if (index < 0 || index >= Object.keys(table.docs).length) throw new Error(`table ${table.name} has no document ${doc}`);
    return index;
  };
  const reached = (wanted: Position): boolean => position !== null && comparePositions(position, wanted) >= 0;

  const passed = (token: string, ms: number): Promise<void> => {
    const wanted = parseToken(token);
    if (!wanted) throw new Refusal('malformed', 'This is no consistency token.');
    if (reached(wanted)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!reached(wanted)) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Refusal('not_caught_up', 'The read model has not come that far yet.', { retryAfter: 1 }));
      }, ms);
      waiting.add(look);
    });
  };

  return {
    feed: (events) => {
      for (const one of kept.values()) feedOne(one, events, only);
      position = events.at(-1)?.position ?? position;
      for (const look of [...waiting]) look();
    },
    rows: rowsOf,
    unapplied: (projection) => of(projection).unapplied,
    reads: {
      one: async (from, key, doc) => {
        const index = docIndex(from, doc);
        const held = find(from, key);
        return held && { doc: held.docs[index]!, revision: from.table.stream ? held.revision : null };
      },
      page: async (query) => {
        const index = docIndex(query.from, query.doc);
        const { held, next } = pageOf(query, (table) => [...rowsOf(query.from.projection, table).values()], index);
        return { body: `[${held.map(({ docs }) => docs[index]).join(DOC_SEPARATOR)}]`, next: next && writeCursor(next) };
      },
      counter: async (from, key, column) => (find(from, key)?.row[column] as number | undefined) ?? 0,
      passed: async (projection, token, ms = 2_000) => {
        of(projection);
        return passed(token, ms);
      },
      position: (projection) => (of(projection) && position ? tokenOf(position) : null),
    },
  };
};
