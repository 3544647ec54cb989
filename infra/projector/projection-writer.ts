import type { ClientBase } from 'pg';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import {
  type AppliedChanges,
  applyChanges,
  collectChanges,
  type InsertedKeys,
  type PendingChanges,
  type Unapplied,
  type Writes,
} from '../../projections/engine/apply-changes.ts';
import { type CompiledProjection, compileProjection, type StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { AnyProjection, Key } from '../../projections/projection.ts';
import { type RowBudget, type RowCache, rowCache } from './row-cache.ts';
import { type SchemaSink, schemaSink, type TableSink } from './table-store.ts';

/** What one projection has to write for one batch, from its checkpoint to the batch's end. */
export type WriteSet = {
  readonly name: string;
  readonly from: Position | null;
  /** Where its checkpoint stands, which may be further back. */
  readonly stored: Position | null;
  readonly to: Position;
  /** When the last event happened that was considered; null where none was. */
  readonly at: string | null;
  /** How many events were considered for the first time. */
  readonly events: number;
  readonly sink: SchemaSink;
  readonly plan: CompiledProjection;
  readonly writes: Writes;
  /** Rows among them that are written for the first time, as far as is known without having looked: that fails where it is not so. */
  readonly assumed: InsertedKeys;
  readonly unapplied: readonly Unapplied[];
  /** Streams whose parked events are being tried again: what is parked of them now is replaced. */
  readonly retried?: readonly string[];
};

/** A projection as its one writer holds it: its place in the log, the rows it knows and the streams that are parked. */
export type ProjectionWriter = {
  readonly name: string;
  readonly plan: CompiledProjection;
  readonly position: () => Position | null;
  readonly blocked: ReadonlySet<string>;
  /** When the last event happened that it has seen in this process; null before the first. */
  readonly at: () => string | null;
  /** How many events it has seen in this process. */
  readonly events: () => number;
  /**
   * Applies events (those behind its own position only) and tells what is to be written; nothing has changed before `done`. Rows that are
   * inserted are not looked for, unless it must be `sure`.
   */
  readonly entry: (db: ClientBase, events: readonly Recorded[], to: Position, sure?: boolean) => Promise<WriteSet>;
  /** Applies events of streams that were parked once more, at the position where the projection stands. */
  readonly retry: (db: ClientBase, events: readonly Recorded[], streams: readonly string[]) => Promise<WriteSet | null>;
  /** Takes over what was written; 'later': its checkpoint was not. */
  readonly done: (entry: WriteSet, checkpoint?: 'written' | 'later') => void;
  /** What its checkpoint lacks; null where it stands where the member does. */
  readonly standing: () => WriteSet | null;
  /** Gives the room of its rows back; it is not used again. */
  readonly close: () => void;
  /** The same projection under the name that it was promoted to. */
  readonly renamed: (name: string) => ProjectionWriter;
};

export type StartingPoint = { readonly position: Position | null; readonly stored?: Position | null; readonly blocked: Iterable<string> };

type Known = ReadonlyMap<string, ReadonlyMap<string, StoredRow | null>>;

const loadTable = async (
  db: ClientBase,
  table: TableSink,
  name: string,
  keys: ReadonlyMap<string, Key>,
  cache: RowCache,
  taken: (key: string) => boolean,
) => {
  const rows = new Map<string, StoredRow | null>();
  const missing = new Map<string, Key>();
  for (const [text, key] of keys) {
    const held = cache.get(name, text);
    if (held !== undefined) rows.set(text, held);
    else if (taken(text)) rows.set(text, null);
    else missing.set(text, key);
  }
  const found = await table.load(db, [...missing.values()]);
  for (const text of missing.keys()) rows.set(text, found.get(text) ?? null);
  return rows;
};

/**
 * Every touched row, from the cache or else from the table. They are held apart: what is loaded may push others out of the cache. `taken` says
 * of a row that the cache does not know whether it is taken to be absent, unseen.
 */
const load = async (
  db: ClientBase,
  sink: SchemaSink,
  { touched }: PendingChanges,
  cache: RowCache,
  taken: (table: string, key: string) => boolean,
): Promise<Known> =>
  new Map(
    await Promise.all(
      [...touched].map(
        async ([name, keys]) => [name, await loadTable(db, sink.tables.get(name)!, name, keys, cache, (key) => taken(name, key))] as const,
      ),
    ),
  );

const NONE: InsertedKeys = new Map();

/** Whether a row that was taken to be absent was not inserted after all: then others of the batch may have looked for it in vain. */
const isOdd = ({ writes }: AppliedChanges, assumed: InsertedKeys): boolean =>
  [...assumed].some(([table, keys]) => [...keys].some((key) => !writes.get(table)?.get(key)));

const memberOf = (name: string, plan: CompiledProjection, standing: StartingPoint, cache: RowCache): ProjectionWriter => {
  const sink = schemaSink(name, plan);
  const blocked = new Set(standing.blocked);
  let { position, stored = position } = standing;
  let seen: string | null = null;
  let counted = 0;

  const applied = async (
    db: ClientBase,
    events: readonly Recorded[],
    held: ReadonlySet<string>,
    sure: boolean,
  ): Promise<Pick<WriteSet, 'writes' | 'assumed' | 'unapplied'>> => {
    const asked = collectChanges(plan, events);
    if (asked.steps.length === 0) return { writes: new Map(), assumed: NONE, unapplied: [] };
    const assumed = new Map<string, Set<string>>();
    const known = await load(db, sink, asked, cache, (table, key) => {
      if (sure || !asked.born.get(table)!.has(key)) return false;
      const keys = assumed.get(table) ?? new Set();
      assumed.set(table, keys.add(key));
      return true;
    });
    const settled = applyChanges(plan, asked, (table, key) => known.get(table)?.get(key), held);
    return isOdd(settled, assumed) ? applied(db, events, held, true) : { ...settled, assumed };
  };

  return {
    name,
    plan,
    blocked,
    position: () => position,
    at: () => seen,
    events: () => counted,
    entry: async (db, events, to, sure = false) => {
      const from = position;
      const isFresh = ({ position }: Recorded): boolean => !from || comparePositions(position, from) > 0;
      const fresh = events.length === 0 || isFresh(events[0]!) ? events : events.filter(isFresh);
      const at = fresh.at(-1)?.at ?? null;
      return { name, plan, sink, from, stored, to, at, events: fresh.length, ...(await applied(db, fresh, blocked, sure)) };
    },
    retry: async (db, events, streams) => {
      if (!position) return null;
      const held = new Set(blocked);
      for (const stream of streams) held.delete(stream);
      const again = await applied(db, events, held, true);
      return { name, plan, sink, from: position, stored, to: position, at: null, events: 0, retried: streams, ...again };
    },
    done: ({ to, at, events, writes, unapplied, retried = [] }, checkpoint = 'written') => {
      seen = at ?? seen;
      for (const stream of retried) blocked.delete(stream);
      for (const [table, rows] of writes)
        if (!plan.tables.get(table)!.table.appendOnly) for (const [key, held] of rows) cache.set(table, key, held);
      for (const { event } of unapplied) blocked.add(event.stream);
      counted += events;
      position = to;
      if (checkpoint === 'written') stored = to;
    },
    standing: () =>
      position === null || position === stored
        ? null
        : { name, plan, sink, from: position, stored, to: position, at: seen, events: 0, writes: new Map(), assumed: NONE, unapplied: [] },
    close: cache.clear,
    renamed: (to) => memberOf(to, plan, { position, stored, blocked }, cache),
  };
};

/** Opens a projection for its one writer, under the schema's name. A position of null says that its tables are empty. */
export const openProjectionWriter = (name: string, projection: AnyProjection, standing: StartingPoint, room: RowBudget): ProjectionWriter =>
  memberOf(name, compileProjection(projection), standing, rowCache(room, standing.position === null));
