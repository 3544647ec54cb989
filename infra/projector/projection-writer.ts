import type { ClientBase } from 'pg';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import {
  type AppliedChanges,
  applyChanges,
  collectChanges,
  type PendingChanges,
  type RowKeys,
  type Unapplied,
  type Writes,
} from '../../projections/engine/apply-changes.ts';
import { type CompiledProjection, compileProjection, type StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { ErasedTenants } from './erased-tenants.ts';
import { openRowCache, type RowBudget, type RowCache } from './row-cache.ts';
import { openSchemaStore, type SchemaStore } from './table-store.ts';

/**
 * The changes that one projection writes for one batch. `from` is the position of the projection before the batch, and
 * `to` its position after it.
 */
export type WriteSet = {
  readonly name: string;
  readonly from: Position | null;
  /** The position that is stored in the database. It may lag behind `from`. */
  readonly checkpoint: Position | null;
  readonly to: Position;
  /** The time of the last event in the batch; null if there is no event in it. */
  readonly lastEventAt: string | null;
  /** The number of events in the batch that come after position `from`. */
  readonly eventCount: number;
  readonly store: SchemaStore;
  readonly compiled: CompiledProjection;
  readonly writes: Writes;
  /** Rows in `writes` that are expected not to exist. This was not checked with a query. If such a row exists, its insert fails. */
  readonly assumedAbsent: RowKeys;
  readonly unapplied: readonly Unapplied[];
  /**
   * Streams whose parked events were retried. In the database, the parked events of these streams are replaced by those
   * in `unapplied`.
   */
  readonly retriedStreams?: readonly string[];
};

/**
 * Computes the changes of one projection, and is its only writer. It contains the projection's position, a cache of its
 * rows, and the streams that have parked events.
 */
export type ProjectionWriter = {
  readonly name: string;
  readonly compiled: CompiledProjection;
  readonly position: () => Position | null;
  readonly blockedStreams: ReadonlySet<string>;
  /** Returns the time of the last event that this writer has processed; null before the first one. */
  readonly lastEventAt: () => string | null;
  /** Returns the number of events that this writer has processed since it was opened. */
  readonly eventCount: () => number;
  /**
   * Applies the events after the writer's position, and returns the changes to write. The state of the writer changes
   * only when `markWritten` is called. Rows that the batch inserts are not queried, because they probably do not exist
   * yet. With `mustLoad`, all rows that are not cached are queried.
   */
  readonly prepare: (db: ClientBase, events: readonly Recorded[], to: Position, mustLoad?: boolean) => Promise<WriteSet>;
  /**
   * Applies the parked events of these streams again, without moving the position. Returns null if the writer has no
   * position yet.
   */
  readonly prepareRetry: (db: ClientBase, events: readonly Recorded[], streams: readonly string[]) => Promise<WriteSet | null>;
  /** Updates the writer after its write set has been committed. `later` means that the checkpoint has not been stored yet. */
  readonly markWritten: (writeSet: WriteSet, checkpoint?: 'written' | 'later') => void;
  /** Returns a write set that only stores the checkpoint; null if the stored checkpoint is up to date. */
  readonly pendingCheckpoint: () => WriteSet | null;
  /** Empties the row cache, and makes its memory available to other writers. The writer must not be used afterwards. */
  readonly close: () => void;
  /** Returns the same writer under another name. Needed because promoting a rebuild renames its schema. */
  readonly renamedTo: (name: string) => ProjectionWriter;
};

/** Where a writer starts. `checkpoint` is the position in the database; it is present only if it differs from `position`. */
export type StartingPoint = {
  readonly position: Position | null;
  readonly checkpoint?: Position | null;
  readonly blockedStreams: Iterable<string>;
};

/** The state that all writers of a process share. */
export type WriterParts = { readonly rowBudget: RowBudget; readonly erased: Pick<ErasedTenants, 'has' | 'isEmpty'> };

type State = {
  readonly name: string;
  readonly compiled: CompiledProjection;
  readonly store: SchemaStore;
  readonly cache: RowCache;
  readonly erased: WriterParts['erased'];
  readonly blockedStreams: Set<string>;
  position: Position | null;
  checkpoint: Position | null;
  lastEventAt: string | null;
  eventCount: number;
};

type Rows = ReadonlyMap<string, StoredRow | null>;
type LoadedRows = ReadonlyMap<string, Rows>;
type Prepared = Pick<WriteSet, 'writes' | 'assumedAbsent' | 'unapplied'>;

/** Decides whether a row that is not cached is expected not to exist, so that it is not queried. */
type AssumeAbsent = (table: string, key: string) => boolean;

const loadTable = async (
  db: ClientBase,
  { cache, compiled, store }: State,
  [name, keys]: readonly [string, ReadonlySet<string>],
  assumeAbsent: AssumeAbsent,
): Promise<readonly [string, Rows]> => {
  const rows = new Map<string, StoredRow | null>();
  const missing: string[] = [];
  for (const text of keys) {
    const cached = cache.get(name, text);
    if (cached !== undefined) rows.set(text, cached);
    else if (assumeAbsent(name, text)) rows.set(text, null);
    else missing.push(text);
  }
  const { keyOf, table } = compiled.tables.get(name)!;
  const found = await store.tables.get(name)!.load(db, missing.map(keyOf));
  for (const text of missing) {
    const row = found.get(text) ?? null;
    rows.set(text, row);
    if (table.isReadByChanges) cache.set(name, text, row);
  }
  return [name, rows];
};

/**
 * Loads every row that the batch touches, from the cache or from the table. Returns them in a map for this batch,
 * because adding rows to the cache may evict others.
 */
const load = async (db: ClientBase, state: State, { touched }: PendingChanges, assumeAbsent: AssumeAbsent): Promise<LoadedRows> =>
  new Map(await Promise.all([...touched].map((table) => loadTable(db, state, table, assumeAbsent))));

const NO_KEYS: RowKeys = new Map();

/**
 * Returns whether a row that was expected not to exist was not inserted by the batch. Such a row may exist, so events
 * of the batch may have been applied wrongly.
 */
const isAssumptionWrong = ({ writes }: AppliedChanges, assumedAbsent: RowKeys): boolean =>
  [...assumedAbsent].some(([table, keys]) => [...keys].some((key) => !writes.get(table)?.get(key)));

const applyEvents = async (
  state: State,
  db: ClientBase,
  events: readonly Recorded[],
  { blockedStreams, mustLoad }: { readonly blockedStreams: ReadonlySet<string>; readonly mustLoad: boolean },
): Promise<Prepared> => {
  const { compiled, erased } = state;
  const pending = collectChanges(compiled, events, erased.isEmpty() ? {} : { isErased: erased.has });
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

/** Returns a write set that does not move the writer's position. */
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

const createWriter = (
  name: string,
  compiled: CompiledProjection,
  start: StartingPoint,
  { cache, erased }: Pick<State, 'cache' | 'erased'>,
): ProjectionWriter => {
  const { position, checkpoint = position } = start;
  const state: State = {
    name,
    compiled,
    store: openSchemaStore(name, compiled),
    cache,
    erased,
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
    renamedTo: (to) => createWriter(to, compiled, state, state),
  };
};

/** Opens the writer of a projection in the schema `name`. If the start position is null, the tables must be empty. */
export const openProjectionWriter = (
  name: string,
  projection: AnyProjection,
  start: StartingPoint,
  { rowBudget, erased }: WriterParts,
): ProjectionWriter =>
  createWriter(name, compileProjection(projection), start, { cache: openRowCache(rowBudget, start.position === null), erased });
