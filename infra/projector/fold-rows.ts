import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import { type CompiledTable, compileProjection, type StoredRow } from '../../projections/engine/compiled-projection.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';

const EVENTS_PER_STEP = 500;

/** A row of the database, with its table and its key text. */
export type SampledRow = { readonly table: CompiledTable; readonly key: string; readonly row: StoredRow };

/** The row that the events folded so far yield for a sampled row; undefined if there is none. */
export type FoldedRow = (sampled: SampledRow) => StoredRow | undefined;

export type FoldOptions = {
  /** Only these rows are folded. */
  readonly rows: readonly SampledRow[];
  /** Later events are ignored. */
  readonly until: Position;
  /** Called after every event. Without it, events are folded in larger steps. */
  readonly onEvent?: (rowOf: FoldedRow, event: Recorded) => void;
};

const nameOf = (table: string, key: string): string => `${table}\0${key}`;

/** Folds events, for some rows only. */
export const foldRows = async (
  projection: AnyProjection,
  events: AsyncIterable<Recorded>,
  { rows, until, onEvent }: FoldOptions,
): Promise<FoldedRow> => {
  const names = new Set(rows.map(({ table, key }) => nameOf(table.table.name, key)));
  const store = openMemoryStore([projection], (table, key) => names.has(nameOf(table, key)));
  const rowOf: FoldedRow = ({ table, key }) => store.rows(projection.name, table.table.name).get(key);
  const step = onEvent ? 1 : EVENTS_PER_STEP;
  let pending: Recorded[] = [];
  const flush = () => {
    if (pending.length === 0) return;
    store.feed(pending);
    onEvent?.(rowOf, pending.at(-1)!);
    pending = [];
  };
  for await (const event of events) {
    if (comparePositions(event.position, until) > 0) break;
    if (pending.push(event) >= step) flush();
  }
  flush();
  return rowOf;
};

/** The events of the whole log that a projection handles. */
export async function* eventsFor(log: Log, projection: AnyProjection): AsyncIterable<Recorded> {
  const { handles } = compileProjection(projection);
  for await (const event of log.readAll()) if (handles(event)) yield event;
}

/** The text by which two values are compared. */
export const textOf = (value: unknown): string => JSON.stringify(value ?? null);

/** The columns in which two rows differ; all columns if the second one is missing. */
export const differingColumns = ({ columns, docs, table }: CompiledTable, a: StoredRow, b: StoredRow | undefined): string[] => {
  const names = columns.map(([name]) => name);
  if (!b) return names;
  return [
    ...names.filter((name) => textOf(a.row[name]) !== textOf(b.row[name])),
    ...docs.flatMap(({ name }, index) => (a.docs[index] === b.docs[index] ? [] : [name])),
    ...(table.stream && a.revision !== b.revision ? ['revision'] : []),
  ];
};
