import type { Recorded } from '../../domain/event.ts';
import type { Change, ListItem, Row } from '../projection.ts';
import type { CompiledProjection, CompiledTable, StoredRow } from './compiled-projection.ts';
import { type IsErased, isOfErasedTenant } from './erased-rows.ts';
import { createOverlay, type Lookup, type Overlay } from './row-overlay.ts';

/** A row that a change reads: the name by which the change refers to it, its table and its key text. */
type KeyedRead = readonly [name: string, table: string, key: string];
/**
 * A change with the table and the key text of the row that it changes, and with the rows that it reads. If `isOptional`
 * is true and its row does not exist, the change is left out.
 */
type KeyedChange = {
  readonly change: Change;
  readonly table: CompiledTable;
  readonly key: string;
  readonly reads: readonly KeyedRead[];
  readonly isOptional: boolean;
  readonly isErased: IsErased | undefined;
};
/** The row that stores the revision of the event's stream (see `Table.stream`). */
type StreamRow = { readonly table: CompiledTable; readonly key: string };
/** An event with its changes. If the changes could not be computed, `reason` is why. */
type Step = {
  readonly event: Recorded;
  readonly changes: readonly KeyedChange[];
  readonly streamRows: readonly StreamRow[];
  readonly reason?: string;
};

/** Maps table names to the key texts of rows. */
export type RowKeys = ReadonlyMap<string, ReadonlySet<string>>;
/**
 * `touched` are the rows that a batch of events may change, which must be loaded before the batch is applied.
 * `inserted` are those whose first change in the batch is an insert; normally, they do not exist before the batch.
 */
export type PendingChanges = { readonly steps: readonly Step[]; readonly touched: RowKeys; readonly inserted: RowKeys };

/**
 * An event that was not applied, which the projector then parks. If `first` is false, the event was left out only
 * because an earlier event of its stream was not applied.
 */
export type Unapplied = { readonly event: Recorded; readonly reason: string; readonly first: boolean };

/** The rows to write: maps table names to maps from key texts to rows. Null means that the row is removed. */
export type Writes = ReadonlyMap<string, ReadonlyMap<string, StoredRow | null>>;
export type AppliedChanges = { readonly writes: Writes; readonly unapplied: readonly Unapplied[] };

export type ApplyOptions = {
  readonly lookup: Lookup;
  /** The streams that have parked events. No further event of these streams is applied. */
  readonly blockedStreams: ReadonlySet<string>;
  /**
   * If true, documents are rendered after every event instead of once per row. This shows which event has a document
   * that cannot be rendered.
   */
  readonly renderEachEvent?: boolean;
};

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 1_000);

const tableOf = (compiled: CompiledProjection, name: string): CompiledTable => {
  const table = compiled.tables.get(name);
  if (!table) throw new Error(`there is no table ${name}`);
  return table;
};

const keyIn = (change: Change): Row => (change.op === 'insert' ? change.row : change.key);

const NOTHING: readonly never[] = [];

const changesOf = (compiled: CompiledProjection, event: Recorded): readonly Change[] => {
  const changes = compiled.changesOf(event);
  return Array.isArray(changes) ? changes : [changes as Change];
};

/** Selects rows by table and key text. Changes of other rows are ignored, except in tables with `isReadByChanges`. */
export type RowFilter = (table: string, key: string) => boolean;

/**
 * `only` selects the rows to collect changes for. Rows of tenants for which `isErased` returns true are not written.
 */
export type CollectOptions = { readonly only?: RowFilter | undefined; readonly isErased?: IsErased };

/**
 * Returns the changes of each event, and the rows that must be loaded for them. Events that the projection does not
 * handle are ignored.
 */
export const collectChanges = (
  compiled: CompiledProjection,
  events: readonly Recorded[],
  { only, isErased }: CollectOptions = {},
): PendingChanges => {
  const noKeys = () => new Map([...compiled.tables.keys()].map((name) => [name, new Set<string>()]));
  const [touched, inserted] = [noKeys(), noKeys()];
  const tablesByStream = Map.groupBy(compiled.tables.values(), ({ table }) => table.stream ?? '');
  const touch = ({ table }: CompiledTable, text: string, isInsert: boolean): string => {
    const rows = touched.get(table.name)!;
    if (rows.has(text)) return text;
    rows.add(text);
    if (isInsert) inserted.get(table.name)!.add(text);
    return text;
  };
  const readsOf = (change: Change): readonly KeyedRead[] => {
    if (change.op !== 'insert' || !change.derived) return NOTHING;
    return Object.entries(change.derived.reads).map(([name, read]) => {
      const table = tableOf(compiled, read.table);
      return [name, read.table, touch(table, table.keyText(read.key), false)];
    });
  };
  const withKey = (change: Change, event: Recorded): KeyedChange => {
    const table = tableOf(compiled, change.table);
    const isOptional = isErased !== undefined && (isErased(event.tenant) || isErased(event.meta.tenant));
    // Add the rows that a change reads before the row that it changes: a row that is read and then inserted must be
    // loaded.
    const reads = readsOf(change);
    return { change, table, key: touch(table, table.keyText(keyIn(change)), change.op === 'insert'), reads, isOptional, isErased };
  };
  const keyedChangesOf = (event: Recorded): Pick<Step, 'changes' | 'reason'> => {
    try {
      const all = changesOf(compiled, event);
      const kept = isErased ? all.filter((change) => !isOfErasedTenant(tableOf(compiled, change.table).table, change, isErased)) : all;
      const changes = kept.map((change) => withKey(change, event));
      return { changes: only ? changes.filter(({ table: { table }, key }) => table.isReadByChanges || only(table.name, key)) : changes };
    } catch (error) {
      return { changes: NOTHING, reason: reasonOf(error) };
    }
  };
  const stepOf = (event: Recorded): Step => {
    const changes = keyedChangesOf(event);
    const streamRows = tablesByStream
      .get(event.category)
      ?.map((table) => ({ table, key: touch(table, table.streamKeyText(event), false) }));
    return { event, ...changes, streamRows: streamRows ?? NOTHING };
  };
  return { steps: events.filter(compiled.handles).map(stepOf), touched, inserted };
};

/** A placeholder for documents that must be rendered again. It is compared by reference, not by content. */
const STALE: readonly string[] = [];

const inserted = (table: CompiledTable, fields: Row): Row => {
  const row: Row = { ...table.emptyRow };
  for (const name in fields) if (fields[name] !== undefined) row[name] = table.toStored(name, fields[name], false);
  return row;
};

const withItems = (list: readonly ListItem[], items: readonly ListItem[], maxItems: number | undefined): ListItem[] => {
  const replaced = new Set(items.map(({ event_id }) => event_id));
  const all = [...list.filter(({ event_id }) => !replaced.has(event_id)), ...items];
  return maxItems === undefined ? all : all.slice(-maxItems);
};

const withFields = (table: CompiledTable, old: Row, fields: Row): Row => {
  const row: Row = { ...old };
  for (const name in fields) {
    if (fields[name] === undefined) continue;
    const value = table.toStored(name, fields[name], true);
    if (table.table.key.includes(name) && value !== old[name]) throw new Error(`${table.table.name}: a key never changes`);
    row[name] = value;
  }
  return row;
};

type Patch = Extract<Change, { op: 'patch' }>;

const patched = (table: CompiledTable, old: Row, { fields, ifEqual = {}, items = {}, maxItems, computed }: Patch): Row => {
  const row: Row = { ...old };
  for (const name in items) row[name] = table.toStored(name, withItems((old[name] ?? []) as ListItem[], items[name]!, maxItems), true);
  for (const name in ifEqual) if (old[name] !== ifEqual[name]) return row;
  const changed = withFields(table, row, fields);
  return computed ? withFields(table, changed, computed(changed)) : changed;
};

const added = (table: CompiledTable, old: Row, amounts: Readonly<Record<string, number>>): Row => {
  const row: Row = { ...old };
  for (const [name, amount] of Object.entries(amounts)) {
    if (!table.isCounter(name)) throw new Error(`${table.table.name}: ${name} is not a counter`);
    row[name] = table.toStored(name, (row[name] as number) + amount, true);
  }
  return row;
};

const isFromStream = (touched: string, stream: string): boolean => touched.length > stream.length && touched.startsWith(`${stream}@`);

/**
 * Returns the row after one change; null if the change removes the row. `touched` names the event, as
 * `<stream>@<revision>`.
 * @throws Error with the reason if the change cannot be made
 */
const nextRow = ({ change, table }: KeyedChange, event: Recorded, touched: string, old: StoredRow | null): StoredRow | null => {
  const { name, stream } = table.table;
  if (change.op === 'remove') return null;
  if (change.op === 'insert') {
    if (old && stream !== event.category && !isFromStream(old.touched, event.stream))
      throw new Error(`${name}: the row already exists, last changed by ${old.touched}`);
    const row = inserted(table, change.row);
    return { row, revision: old?.revision ?? null, touched, docs: table.render(row) };
  }
  if (change.op === 'add' && table.table.countersOnly)
    return { row: added(table, old?.row ?? inserted(table, change.key), change.amounts), revision: null, touched, docs: STALE };
  if (!old) throw new Error(`${name}: there is no row to ${change.op}`);
  const row = change.op === 'patch' ? patched(table, old.row, change) : added(table, old.row, change.amounts);
  return { row, revision: old.revision, touched, docs: STALE };
};

/** Returns the change with those fields added that depend on other rows. */
const withDerivedFields = (keyed: KeyedChange, rows: Overlay): KeyedChange => {
  const { change, reads } = keyed;
  if (change.op !== 'insert' || !change.derived) return keyed;
  const found: Record<string, Row | null> = {};
  for (const [name, table, key] of reads) found[name] = rows.read(table, key)?.row ?? null;
  return { ...keyed, change: { ...change, row: { ...change.row, ...change.derived.complete(found) } } };
};

/** Returns whether a change fails if its row does not exist. */
const isOfExistingRow = ({ change: { op }, table: { table } }: KeyedChange): boolean =>
  op === 'patch' || (op === 'add' && !table.countersOnly);

const applyChange = (keyed: KeyedChange, event: Recorded, touched: string, rows: Overlay): void => {
  const { name } = keyed.table.table;
  if (keyed.isOptional && isOfExistingRow(keyed) && !rows.read(name, keyed.key)) return;
  const derived = withDerivedFields(keyed, rows);
  if (keyed.isErased && isOfErasedTenant(keyed.table.table, derived.change, keyed.isErased)) return;
  rows.write(name, keyed.key, nextRow(derived, event, touched, rows.read(name, keyed.key)));
};

const updateRevision = ({ table, key }: StreamRow, { revision }: Recorded, touched: string, rows: Overlay): void => {
  const old = rows.read(table.table.name, key);
  if (old) rows.write(table.table.name, key, { row: old.row, revision, touched, docs: old.docs });
};

const applyStep = ({ event, changes, streamRows, reason }: Step, rows: Overlay): void => {
  if (reason !== undefined) throw new Error(reason);
  const touched = `${event.stream}@${event.revision}`;
  for (const change of changes) applyChange(change, event, touched, rows);
  for (const streamRow of streamRows) updateRevision(streamRow, event, touched, rows);
};

const rendered = (table: CompiledTable, row: StoredRow | null): StoredRow | null =>
  row?.docs === STALE ? { ...row, docs: table.render(row.row) } : row;

const renderAll = (compiled: CompiledProjection, rowsByTable: ReadonlyMap<string, Map<string, StoredRow | null>>): void => {
  for (const [name, rows] of rowsByTable) {
    const table = compiled.tables.get(name)!;
    if (table.docs.length > 0) for (const [key, row] of rows) rows.set(key, rendered(table, row));
  }
};

/**
 * Applies the collected changes in order. `lookup` returns the rows as they were before the batch. If an event cannot
 * be applied, none of its changes is made, and no later event of its stream is applied.
 */
export const applyChanges = (
  compiled: CompiledProjection,
  { steps }: Pick<PendingChanges, 'steps'>,
  options: ApplyOptions,
): AppliedChanges => {
  const { lookup, blockedStreams, renderEachEvent = false } = options;
  const rows = createOverlay(lookup);
  const blocked = new Set(blockedStreams);
  const unapplied: Unapplied[] = [];
  for (const step of steps) {
    const { event } = step;
    if (blocked.has(event.stream)) {
      unapplied.push({ event, reason: 'follows a parked event of its stream', first: false });
      continue;
    }
    try {
      applyStep(step, rows);
      if (renderEachEvent) rows.render((name, row) => rendered(compiled.tables.get(name)!, row));
      rows.commit();
    } catch (error) {
      rows.discard();
      blocked.add(event.stream);
      unapplied.push({ event, reason: reasonOf(error), first: true });
    }
  }
  try {
    renderAll(compiled, rows.rows);
  } catch (error) {
    if (renderEachEvent) throw error;
    return applyChanges(compiled, { steps }, { ...options, renderEachEvent: true });
  }
  return { writes: rows.rows, unapplied };
};
