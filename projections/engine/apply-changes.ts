import type { Recorded } from '../../domain/event.ts';
import type { Change, Key, Row } from '../projection.ts';
import type { CompiledProjection, CompiledTable, StoredRow } from './compiled-projection.ts';

/** A change with the table and the key text of its row. */
type Placed = { readonly change: Change; readonly table: CompiledTable; readonly key: string };
/** The row that bears the revision of an event's stream. */
type Bearer = { readonly table: CompiledTable; readonly key: string };
/** An event with what it changes; `reason` says why its changes could not even be told. */
type Step = {
  readonly event: Recorded;
  readonly changes: readonly Placed[];
  readonly bearers: readonly Bearer[];
  readonly reason?: string;
};

/** The rows that a batch touches, by table and key text: what has to be loaded before it can be applied. */
export type TouchedKeys = ReadonlyMap<string, ReadonlyMap<string, Key>>;
/** Of the touched rows those that the batch itself inserts first, by table and key text: they should not be there. */
export type InsertedKeys = ReadonlyMap<string, ReadonlySet<string>>;
export type PendingChanges = { readonly steps: readonly Step[]; readonly touched: TouchedKeys; readonly born: InsertedKeys };

/** An event that was not applied. `first` is false where it only stands behind one of the same stream. */
export type Unapplied = { readonly event: Recorded; readonly reason: string; readonly first: boolean };

/** Whole rows to be written, null where a row goes; by table and key text. */
export type Writes = ReadonlyMap<string, ReadonlyMap<string, StoredRow | null>>;
export type AppliedChanges = { readonly writes: Writes; readonly unapplied: readonly Unapplied[] };

export type Lookup = (table: string, key: string) => StoredRow | null | undefined;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 1_000);

const tableOf = (plan: CompiledProjection, name: string): CompiledTable => {
  const table = plan.tables.get(name);
  if (!table) throw new Error(`there is no table ${name}`);
  return table;
};

const keyIn = (change: Change): Row => (change.op === 'insert' ? change.row : change.key);

const NOTHING: readonly never[] = [];

const changesOf = (plan: CompiledProjection, event: Recorded): readonly Change[] => {
  const changes = plan.changesOf(event);
  return Array.isArray(changes) ? changes : [changes as Change];
};

/** Which rows are followed, by table and key text; the others are as if no event touched them. */
export type RowFilter = (table: string, key: string) => boolean;

/** Tells what each event changes and which rows that touches. Events that do not concern the projection fall away. */
export const collectChanges = (plan: CompiledProjection, events: readonly Recorded[], only?: RowFilter): PendingChanges => {
  const touched = new Map<string, Map<string, Key>>([...plan.tables.keys()].map((name) => [name, new Map()]));
  const born = new Map<string, Set<string>>([...plan.tables.keys()].map((name) => [name, new Set()]));
  const bearing = Map.groupBy(plan.tables.values(), ({ table }) => table.stream ?? '');
  const touch = ({ table, keyOf }: CompiledTable, text: string, inserts: boolean): string => {
    const rows = touched.get(table.name)!;
    if (rows.has(text)) return text;
    rows.set(text, keyOf(text));
    if (inserts) born.get(table.name)!.add(text);
    return text;
  };
  const place = (change: Change): Placed => {
    const table = tableOf(plan, change.table);
    return { change, table, key: touch(table, table.keyText(keyIn(change)), change.op === 'insert') };
  };
  const changed = (event: Recorded): Pick<Step, 'changes' | 'reason'> => {
    try {
      const placed = changesOf(plan, event).map(place);
      return { changes: only ? placed.filter(({ table, key }) => only(table.table.name, key)) : placed };
    } catch (error) {
      return { changes: NOTHING, reason: reasonOf(error) };
    }
  };
  const stepOf = (event: Recorded): Step => {
    const step = changed(event);
    const bearers = bearing.get(event.category)?.map((table) => ({ table, key: touch(table, table.streamText(event), false) }));
    return { event, ...step, bearers: bearers ?? NOTHING };
  };
  return { steps: events.filter(plan.handles).map(stepOf), touched, born };
};

/** The rows of one batch while it is applied: an event's rows count only once all of its changes went through. */
const overlay = (lookup: Lookup) => {
  const rows = new Map<string, Map<string, StoredRow | null>>();
  let event: [string, string, StoredRow | null][] = [];
  const read = (table: string, key: string): StoredRow | null => {
    for (let index = event.length - 1; index >= 0; index--) {
      const [name, text, held] = event[index]!;
      if (text === key && name === table) return held;
    }
    const held = rows.get(table)?.get(key);
    return held === undefined ? (lookup(table, key) ?? null) : held;
  };
  const commit = () => {
    for (const [table, key, held] of event) {
      const of = rows.get(table) ?? new Map<string, StoredRow | null>();
      rows.set(table, of.set(key, held));
    }
    event = [];
  };
  return {
    rows,
    read,
    commit,
    render: (render: (table: string, held: StoredRow | null) => StoredRow | null) => {
      event = event.map(([table, key, held]) => [table, key, render(table, held)]);
    },
    write: (table: string, key: string, held: StoredRow | null): void => {
      const last = event.at(-1);
      if (last && last[1] === key && last[0] === table) last[2] = held;
      else event.push([table, key, held]);
    },
    discard: () => {
      event = [];
    },
  };
};

type Overlay = ReturnType<typeof overlay>;

/** Documents that are yet to be rendered: told apart from ready ones by identity. */
const STALE: readonly string[] = [];

const inserted = (table: CompiledTable, row: Row): Row => {
  const kept: Row = { ...table.blank };
  for (const name in row) if (row[name] !== undefined) kept[name] = table.field(name, row[name], false);
  return kept;
};

const patched = (table: CompiledTable, held: Row, fields: Row): Row => {
  const row: Row = { ...held };
  for (const name in fields) {
    if (fields[name] === undefined) continue;
    const value = table.field(name, fields[name], true);
    if (table.table.key.includes(name) && value !== held[name]) throw new Error(`${table.table.name}: a key never changes`);
    row[name] = value;
  }
  return row;
};

const added = (table: CompiledTable, held: Row, amounts: Readonly<Record<string, number>>): Row => {
  const row: Row = { ...held };
  for (const [name, amount] of Object.entries(amounts)) {
    if (!table.isCounter(name)) throw new Error(`${table.table.name}: ${name} is no counter`);
    row[name] = table.field(name, (row[name] as number) + amount, true);
  }
  return row;
};

const ofStream = (touched: string, stream: string): boolean => touched.length > stream.length && touched.startsWith(`${stream}@`);

/** The row after one change; null where it goes. @throws Error that says why the change cannot be made */
const next = (table: CompiledTable, change: Change, event: Recorded, touched: string, held: StoredRow | null): StoredRow | null => {
  const { name, stream } = table.table;
  if (change.op === 'remove') return null;
  if (change.op === 'insert') {
    if (held && stream !== event.category && !ofStream(held.touched, event.stream))
      throw new Error(`${name}: the row is there already, last moved by ${held.touched}`);
    const row = inserted(table, change.row);
    return { row, revision: held?.revision ?? null, touched, docs: table.render(row) };
  }
  if (change.op === 'add' && table.table.countersOnly)
    return { row: added(table, held?.row ?? inserted(table, change.key), change.amounts), revision: null, touched, docs: STALE };
  if (!held) throw new Error(`${name}: there is no row to ${change.op}`);
  const row = change.op === 'patch' ? patched(table, held.row, change.fields) : added(table, held.row, change.amounts);
  return { row, revision: held.revision, touched, docs: STALE };
};

const apply = ({ change, table, key }: Placed, event: Recorded, touched: string, rows: Overlay): void =>
  rows.write(table.table.name, key, next(table, change, event, touched, rows.read(table.table.name, key)));

const bump = ({ table, key }: Bearer, { revision }: Recorded, touched: string, rows: Overlay): void => {
  const held = rows.read(table.table.name, key);
  if (held) rows.write(table.table.name, key, { row: held.row, revision, touched, docs: held.docs });
};

const applyStep = ({ event, changes, bearers, reason }: Step, rows: Overlay): void => {
  if (reason !== undefined) throw new Error(reason);
  const touched = `${event.stream}@${event.revision}`;
  for (const change of changes) apply(change, event, touched, rows);
  for (const bearer of bearers) bump(bearer, event, touched, rows);
};

const rendered = (table: CompiledTable, held: StoredRow | null): StoredRow | null =>
  held?.docs === STALE ? { ...held, docs: table.render(held.row) } : held;

const renderAll = (plan: CompiledProjection, rows: ReadonlyMap<string, Map<string, StoredRow | null>>): void => {
  for (const [name, held] of rows) {
    const table = plan.tables.get(name)!;
    if (table.docs.length > 0) for (const [key, one] of held) held.set(key, rendered(table, one));
  }
};

/**
 * Applies what was asked to the rows that were loaded, in order. An event that cannot be applied changes nothing, and neither does any
 * later one of its stream; streams in `blocked` are such from the beginning. `careful` renders after every event instead of once a row.
 */
export const applyChanges = (
  plan: CompiledProjection,
  { steps }: Pick<PendingChanges, 'steps'>,
  lookup: Lookup,
  blocked: ReadonlySet<string>,
  careful = false,
): AppliedChanges => {
  const rows = overlay(lookup);
  const stopped = new Set(blocked);
  const unapplied: Unapplied[] = [];
  for (const step of steps) {
    const { event } = step;
    if (stopped.has(event.stream)) {
      unapplied.push({ event, reason: 'behind a parked event of its stream', first: false });
      continue;
    }
    try {
      applyStep(step, rows);
      if (careful) rows.render((name, held) => rendered(plan.tables.get(name)!, held));
      rows.commit();
    } catch (error) {
      rows.discard();
      stopped.add(event.stream);
      unapplied.push({ event, reason: reasonOf(error), first: true });
    }
  }
  try {
    renderAll(plan, rows.rows);
  } catch (error) {
    if (careful) throw error;
    return applyChanges(plan, { steps }, lookup, blocked, true);
  }
  return { writes: rows.rows, unapplied };
};
