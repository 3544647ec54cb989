import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import { type CompiledTable, compileProjection, type StoredRow } from '../../projections/engine/compiled-projection.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';

const EVENTS_PER_STEP = 500;

/** A row read from the database, with its table and the text of its key. */
export type SampledRow = { readonly table: CompiledTable; readonly key: string; readonly row: StoredRow };

/** Returns the row that the events folded so far yield for the key of a sampled row; undefined if they yield none. */
export type FoldedRow = (sampled: SampledRow) => StoredRow | undefined;

export type FoldOptions = {
  readonly rows: readonly SampledRow[];
  readonly until: Position;
  /** Called after every folded event. If it is absent, events are folded in larger steps, which is faster. */
  readonly onEvent?: (rowOf: FoldedRow, event: Recorded) => void;
};

/** A fold that gets its events one by one. */
export type RowFold = {
  readonly add: (event: Recorded) => void;
  /** Folds the last events. @returns the function that looks up the folded row of a sampled row */
  readonly finish: () => FoldedRow;
};

/** Starts to fold events into the rows in `options.rows`. Ignores all other rows, and events after `options.until`. */
export const startFold = (projection: AnyProjection, { rows, until, onEvent }: FoldOptions): RowFold => {
  const keys = new Map(projection.tables.map(({ name }) => [name, new Set<string>()]));
  for (const { table, key } of rows) keys.get(table.table.name)!.add(key);
  const store = openMemoryStore([projection], { only: (table, key) => keys.get(table)!.has(key) });
  const rowOf: FoldedRow = ({ table, key }) => store.rows(projection.name, table.table.name).get(key);
  const step = onEvent ? 1 : EVENTS_PER_STEP;
  let pending: Recorded[] = [];
  const flush = () => {
    if (pending.length === 0) return;
    store.feed(pending);
    onEvent?.(rowOf, pending.at(-1)!);
    pending = [];
  };
  return {
    add: (event) => {
      if (comparePositions(event.position, until) <= 0 && pending.push(event) >= step) flush();
    },
    finish: () => {
      flush();
      return rowOf;
    },
  };
};

/**
 * Folds events, in the order of their positions, into the rows in `options.rows`.
 * @returns the function that looks up the folded row of a sampled row
 */
export const foldRows = async (projection: AnyProjection, events: AsyncIterable<Recorded>, options: FoldOptions): Promise<FoldedRow> => {
  const fold = startFold(projection, options);
  for await (const event of events) {
    if (comparePositions(event.position, options.until) > 0) break;
    fold.add(event);
  }
  return fold.finish();
};

export async function* eventsFor(log: Log, projection: AnyProjection): AsyncIterable<Recorded> {
  const { handles } = compileProjection(projection);
  for await (const event of log.readAll()) if (handles(event)) yield event;
}

/** Converts a value to JSON text. Two values count as equal if their texts are equal. */
export const textOf = (value: unknown): string => JSON.stringify(value ?? null);

/** Returns the names of the columns in which two rows differ. If the second row is missing, returns the names of all columns. */
export const differingColumns = ({ columns, docs, table }: CompiledTable, a: StoredRow, b: StoredRow | undefined): string[] => {
  const names = columns.map(([name]) => name);
  if (!b) return names;
  return [
    ...names.filter((name) => a.row[name] !== b.row[name] && textOf(a.row[name]) !== textOf(b.row[name])),
    ...docs.flatMap(({ name }, index) => (a.docs[index] === b.docs[index] ? [] : [name])),
    ...(table.stream && a.revision !== b.revision ? ['revision'] : []),
  ];
};
