import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { writeCursor } from '../cursor.ts';
import type { AnyProjection, Key } from '../projection.ts';
import { DOC_SEPARATOR, type Page, type PageQuery, type Reads, type Source } from '../read-model.ts';
import { applyChanges, collectChanges, type RowFilter, type Unapplied } from './apply-changes.ts';
import { type CompiledProjection, compileProjection, type StoredRow } from './compiled-projection.ts';
import { pageOf } from './memory-query.ts';

/** Holds projections in memory. It is used by tests without a database, by as-of reads and by the drift check. */
export type MemoryStore = {
  /** Applies events, which must come in log order. Every event moves the position, even if no projection handles it. */
  readonly feed: (events: readonly Recorded[]) => void;
  readonly reads: Reads;
  /** Returns the rows of one table by key text, including soft-deleted rows. */
  readonly rows: (projection: string, table: string) => ReadonlyMap<string, StoredRow>;
  readonly unapplied: (projection: string) => readonly Unapplied[];
};

type ProjectionState = {
  readonly compiled: CompiledProjection;
  readonly tables: Map<string, Map<string, StoredRow>>;
  readonly unapplied: Unapplied[];
  readonly blockedStreams: Set<string>;
};

type State = {
  readonly projections: ReadonlyMap<string, ProjectionState>;
  /** Functions to call whenever the position has changed. */
  readonly listeners: Set<() => void>;
  position: Position | null;
};

const emptyState = (projection: AnyProjection): ProjectionState => ({
  compiled: compileProjection(projection),
  tables: new Map(projection.tables.map(({ name }) => [name, new Map()])),
  unapplied: [],
  blockedStreams: new Set(),
});

const feedProjection = (
  { compiled, tables, unapplied, blockedStreams }: ProjectionState,
  events: readonly Recorded[],
  only?: RowFilter,
): void => {
  const lookup = (table: string, key: string) => tables.get(table)!.get(key);
  const applied = applyChanges(compiled, collectChanges(compiled, events, only), { lookup, blockedStreams });
  for (const [table, rows] of applied.writes)
    for (const [key, row] of rows) row ? tables.get(table)!.set(key, row) : tables.get(table)!.delete(key);
  for (const event of applied.unapplied) {
    unapplied.push(event);
    blockedStreams.add(event.event.stream);
  }
};

const projectionOf = ({ projections }: State, name: string): ProjectionState => {
  const found = projections.get(name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
};

const rowsOf = (state: State, projection: string, table: string): Map<string, StoredRow> => {
  const rows = projectionOf(state, projection).tables.get(table);
  if (!rows) throw new Error(`projection ${projection} has no table ${table}`);
  return rows;
};

const unlessDeleted = ({ table }: Source, row: StoredRow | undefined): StoredRow | null =>
  row && !(table.softDelete && row.row[table.softDelete]) ? row : null;

const findRow = (state: State, from: Source, key: Key): StoredRow | null => {
  const rows = rowsOf(state, from.projection, from.table.name);
  const names = Object.keys(key);
  const matches = (row: StoredRow) => names.every((name) => row.row[name] === key[name]);
  if (from.table.key.every((name) => name in key)) {
    const table = projectionOf(state, from.projection).compiled.tables.get(from.table.name)!;
    const row = rows.get(table.keyText(key));
    return unlessDeleted(from, row && matches(row) ? row : undefined);
  }
  for (const row of rows.values()) if (unlessDeleted(from, row) && matches(row)) return row;
  return null;
};

const docIndexOf = ({ table }: Source, doc: string | undefined): number => {
  const names = Object.keys(table.docs);
  const index = doc === undefined ? 0 : names.indexOf(doc);
  if (index < 0 || index >= names.length) throw new Error(`table ${table.name} has no document ${doc}`);
  return index;
};

const readPage = (state: State, query: PageQuery): Page => {
  const index = docIndexOf(query.from, query.doc);
  const { held, next } = pageOf(query, (table) => [...rowsOf(state, query.from.projection, table).values()], index);
  return { body: `[${held.map(({ docs }) => docs[index]).join(DOC_SEPARATOR)}]`, next: next && writeCursor(next) };
};

const waitForPosition = (state: State, token: string, ms: number): Promise<void> => {
  const wanted = parseToken(token);
  if (!wanted) throw new Refusal('malformed', 'This is not a consistency token.');
  const isReached = () => state.position !== null && comparePositions(state.position, wanted) >= 0;
  if (isReached()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onMove = () => {
      if (!isReached()) return;
      clearTimeout(timer);
      state.listeners.delete(onMove);
      resolve();
    };
    const timer = setTimeout(() => {
      state.listeners.delete(onMove);
      reject(new Refusal('not_caught_up', 'The read model has not reached this position yet.', { retryAfter: 1 }));
    }, ms);
    state.listeners.add(onMove);
  });
};

const readsOf = (state: State): Reads => ({
  one: async (from, key, doc) => {
    const index = docIndexOf(from, doc);
    const row = findRow(state, from, key);
    return row && { doc: row.docs[index]!, revision: from.table.stream ? row.revision : null };
  },
  page: async (query) => readPage(state, query),
  counter: async (from, key, column) => (findRow(state, from, key)?.row[column] as number | undefined) ?? 0,
  passed: async (projection, token, ms = 2_000) => {
    projectionOf(state, projection);
    return waitForPosition(state, token, ms);
  },
  position: (projection) => (projectionOf(state, projection) && state.position ? tokenOf(state.position) : null),
});

/** Creates an empty store for these projections. With `only`, it stores only the rows that this filter selects. */
export const openMemoryStore = (projections: readonly AnyProjection[], only?: RowFilter): MemoryStore => {
  const state: State = {
    projections: new Map(projections.map((projection) => [projection.name, emptyState(projection)])),
    listeners: new Set(),
    position: null,
  };
  return {
    feed: (events) => {
      for (const projection of state.projections.values()) feedProjection(projection, events, only);
      state.position = events.at(-1)?.position ?? state.position;
      for (const notify of [...state.listeners]) notify();
    },
    rows: (projection, table) => rowsOf(state, projection, table),
    unapplied: (projection) => projectionOf(state, projection).unapplied,
    reads: readsOf(state),
  };
};
