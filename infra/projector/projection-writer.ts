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
import { openRowCache, type RowBudget, type RowCache } from './row-cache.ts';
import { openSchemaStore, type SchemaStore } from './table-store.ts';

/** What one projection has to write for one batch, from its position to the end of the batch. */
export type WriteSet = {
  readonly name: string;
  readonly from: Position | null;
  /** The position that the database has for this projection. It may lag behind `from`. */
  readonly checkpoint: Position | null;
  readonly to: Position;
  /** The time of the last event of the batch; null if there is none. */
  readonly lastEventAt: string | null;
  /** How many events of the batch this projection has not seen before. */
  readonly eventCount: number;
  readonly store: SchemaStore;
  readonly compiled: CompiledProjection;
  readonly writes: Writes;
  /**
   * The rows among `writes` that were assumed not to exist, without a look at the database. If one does exist, its
   * insert fails.
   */
  readonly assumedAbsent: InsertedKeys;
  readonly unapplied: readonly Unapplied[];
  /** Streams whose parked events are retried: the events that are now parked replace those that were. */
  readonly retriedStreams?: readonly string[];
};

/**
 * The only writer of one projection. It holds the position, a cache of rows, and the streams that have parked events.
 */
export type ProjectionWriter = {
  readonly name: string;
  readonly compiled: CompiledProjection;
  readonly position: () => Position | null;
  readonly blockedStreams: ReadonlySet<string>;
  /** The time of the last event that this writer has seen; null before the first one. */
  readonly lastEventAt: () => string | null;
  /** How many events this writer has seen. */
  readonly eventCount: () => number;
  /**
   * Applies those of the events that come after its position, and returns what has to be written. The writer itself
   * changes only with `markWritten`. Rows that the batch inserts are assumed not to exist, unless `mustLoad` is true.
   */
  readonly prepare: (db: ClientBase, events: readonly Recorded[], to: Position, mustLoad?: boolean) => Promise<WriteSet>;
  /** Applies parked events of these streams again, at the current position; null if there is no position yet. */
  readonly prepareRetry: (db: ClientBase, events: readonly Recorded[], streams: readonly string[]) => Promise<WriteSet | null>;
  /** Notes that the write set was committed; 'later': all of it but the checkpoint. */
  readonly markWritten: (writeSet: WriteSet, checkpoint?: 'written' | 'later') => void;
  /** The write set that only moves the checkpoint to the writer's position; null if it is there already. */
  readonly pendingCheckpoint: () => WriteSet | null;
  /** Returns the memory of its rows to the budget. The writer must not be used afterwards. */
  readonly close: () => void;
  /** The same projection under the name to which it was promoted. */
  readonly renamedTo: (name: string) => ProjectionWriter;
};

/** Where a writer starts. `checkpoint` is the position that the database has, if it differs from `position`. */
export type StartingPoint = {
  readonly position: Position | null;
  readonly checkpoint?: Position | null;
  readonly blockedStreams: Iterable<string>;
};

type State = {
  readonly name: string;
  readonly compiled: CompiledProjection;
  readonly store: SchemaStore;
  readonly cache: RowCache;
  readonly blockedStreams: Set<string>;
  position: Position | null;
  checkpoint: Position | null;
  lastEventAt: string | null;
  eventCount: number;
};

type Rows = ReadonlyMap<string, StoredRow | null>;
type LoadedRows = ReadonlyMap<string, Rows>;
type Prepared = Pick<WriteSet, 'writes' | 'assumedAbsent' | 'unapplied'>;

/** Decides whether a row that is not in the cache is assumed not to exist. */
type AssumeAbsent = (table: string, key: string) => boolean;

const loadTable = async (
  db: ClientBase,
  { cache, store }: State,
  [name, keys]: readonly [string, ReadonlyMap<string, Key>],
  assumeAbsent: AssumeAbsent,
): Promise<readonly [string, Rows]> => {
  const rows = new Map<string, StoredRow | null>();
  const missing = new Map<string, Key>();
  for (const [text, key] of keys) {
    const cached = cache.get(name, text);
    if (cached !== undefined) rows.set(text, cached);
    else if (assumeAbsent(name, text)) rows.set(text, null);
    else missing.set(text, key);
  }
  const found = await store.tables.get(name)!.load(db, [...missing.values()]);
  for (const text of missing.keys()) rows.set(text, found.get(text) ?? null);
  return [name, rows];
};

/**
 * Loads every row that the batch touches, from the cache or else from the table. The batch keeps its own map of them,
 * because loaded rows may push others out of the cache.
 */
const load = async (db: ClientBase, state: State, { touched }: PendingChanges, assumeAbsent: AssumeAbsent): Promise<LoadedRows> =>
  new Map(await Promise.all([...touched].map((table) => loadTable(db, state, table, assumeAbsent))));

const NO_KEYS: InsertedKeys = new Map();

/**
 * Whether a row that was assumed absent was not inserted after all. Other events of the batch may then have missed an
 * existing row.
 */
const isAssumptionWrong = ({ writes }: AppliedChanges, assumedAbsent: InsertedKeys): boolean =>
  [...assumedAbsent].some(([table, keys]) => [...keys].some((key) => !writes.get(table)?.get(key)));

const applyEvents = async (
  state: State,
  db: ClientBase,
  events: readonly Recorded[],
  { blockedStreams, mustLoad }: { readonly blockedStreams: ReadonlySet<string>; readonly mustLoad: boolean },
): Promise<Prepared> => {
  const { compiled } = state;
  const pending = collectChanges(compiled, events);
  if (pending.steps.length === 0) return { writes: new Map(), assumedAbsent: NO_KEYS, unapplied: [] };
  const assumedAbsent = new Map<string, Set<string>>();
  const rows = await load(db, state, pending, (table, key) => {
    if (mustLoad || !pending.inserted.get(table)!.has(key)) return false;
    const keys = assumedAbsent.get(table) ?? new Set();
    assumedAbsent.set(table, keys.add(key));
    return true;
  });
  const applied = applyChanges(compiled, pending, { lookup: (table, key) => rows.get(table)?.get(key), blockedStreams });
  if (isAssumptionWrong(applied, assumedAbsent)) return applyEvents(state, db, events, { blockedStreams, mustLoad: true });
  return { ...applied, assumedAbsent };
};

const prepare = async (state: State, db: ClientBase, batch: Pick<WriteSet, 'to'> & { events: readonly Recorded[] }, mustLoad: boolean) => {
  const { name, compiled, store, position: from, checkpoint, blockedStreams } = state;
  const { events, to } = batch;
  const isNew = ({ position }: Recorded): boolean => !from || comparePositions(position, from) > 0;
  const fresh = events.length === 0 || isNew(events[0]!) ? events : events.filter(isNew);
  const lastEventAt = fresh.at(-1)?.at ?? null;
  const applied = await applyEvents(state, db, fresh, { blockedStreams, mustLoad });
  return { name, compiled, store, from, checkpoint, to, lastEventAt, eventCount: fresh.length, ...applied };
};

/** A write set that does not move the writer. */
const writeSetAt = ({ name, compiled, store, checkpoint }: State, position: Position, prepared: Prepared): WriteSet => ({
  name,
  compiled,
  store,
  from: position,
  checkpoint,
  to: position,
  lastEventAt: null,
  eventCount: 0,
  ...prepared,
});

const prepareRetry = async (
  state: State,
  db: ClientBase,
  events: readonly Recorded[],
  streams: readonly string[],
): Promise<WriteSet | null> => {
  const { position } = state;
  if (!position) return null;
  const blockedStreams = new Set(state.blockedStreams);
  for (const stream of streams) blockedStreams.delete(stream);
  const applied = await applyEvents(state, db, events, { blockedStreams, mustLoad: true });
  return { ...writeSetAt(state, position, applied), retriedStreams: streams };
};

const markWritten = (state: State, writeSet: WriteSet, checkpoint: 'written' | 'later'): void => {
  const { compiled, cache, blockedStreams } = state;
  const { to, lastEventAt, eventCount, writes, unapplied, retriedStreams = [] } = writeSet;
  state.lastEventAt = lastEventAt ?? state.lastEventAt;
  for (const stream of retriedStreams) blockedStreams.delete(stream);
  for (const [table, rows] of writes)
    if (!compiled.tables.get(table)!.table.appendOnly) for (const [key, row] of rows) cache.set(table, key, row);
  for (const { event } of unapplied) blockedStreams.add(event.stream);
  state.eventCount += eventCount;
  state.position = to;
  if (checkpoint === 'written') state.checkpoint = to;
};

const pendingCheckpoint = (state: State): WriteSet | null => {
  const { position, checkpoint, lastEventAt } = state;
  if (position === null || position === checkpoint) return null;
  return { ...writeSetAt(state, position, { writes: new Map(), assumedAbsent: NO_KEYS, unapplied: [] }), lastEventAt };
};

const createWriter = (name: string, compiled: CompiledProjection, start: StartingPoint, cache: RowCache): ProjectionWriter => {
  const { position, checkpoint = position } = start;
  const state: State = {
    name,
    compiled,
    store: openSchemaStore(name, compiled),
    cache,
    blockedStreams: new Set(start.blockedStreams),
    position,
    checkpoint,
    lastEventAt: null,
    eventCount: 0,
  };
  return {
    name,
    compiled,
    blockedStreams: state.blockedStreams,
    position: () => state.position,
    lastEventAt: () => state.lastEventAt,
    eventCount: () => state.eventCount,
    prepare: (db, events, to, mustLoad = false) => prepare(state, db, { events, to }, mustLoad),
    prepareRetry: (db, events, streams) => prepareRetry(state, db, events, streams),
    markWritten: (writeSet, written = 'written') => markWritten(state, writeSet, written),
    pendingCheckpoint: () => pendingCheckpoint(state),
    close: cache.clear,
    renamedTo: (to) => createWriter(to, compiled, state, cache),
  };
};

/** Opens the writer of a projection in the schema `name`. A start at position null means that the tables are empty. */
export const openProjectionWriter = (
  name: string,
  projection: AnyProjection,
  start: StartingPoint,
  rowBudget: RowBudget,
): ProjectionWriter => createWriter(name, compileProjection(projection), start, openRowCache(rowBudget, start.position === null));
