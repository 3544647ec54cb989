import type { Recorded } from '../../domain/event.ts';
import type { AnyProjection } from '../projection.ts';
import { applyChanges, type CollectOptions, collectChanges, type Unapplied } from './apply-changes.ts';
import { type CompiledProjection, compileProjection, type StoredRow } from './compiled-projection.ts';

/** Holds the rows of projections in memory. It is used by as-of reads, rebuilds, the drift check and tests. */
export type MemoryStore = {
  /** Applies events, which must come in log order. */
  readonly feed: (events: readonly Recorded[]) => void;
  /** Returns the rows of one table, including soft-deleted rows, as a map from key texts to rows. */
  readonly rows: (projection: string, table: string) => ReadonlyMap<string, StoredRow>;
  readonly unapplied: (projection: string) => readonly Unapplied[];
};

type ProjectionState = {
  readonly compiled: CompiledProjection;
  readonly tables: Map<string, Map<string, StoredRow>>;
  readonly unapplied: Unapplied[];
  readonly blockedStreams: Set<string>;
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
  options: CollectOptions,
): void => {
  const lookup = (table: string, key: string) => tables.get(table)!.get(key);
  const applied = applyChanges(compiled, collectChanges(compiled, events, options), { lookup, blockedStreams });
  for (const [table, rows] of applied.writes)
    for (const [key, row] of rows) row ? tables.get(table)!.set(key, row) : tables.get(table)!.delete(key);
  for (const event of applied.unapplied) {
    unapplied.push(event);
    blockedStreams.add(event.event.stream);
  }
};

/** Creates an empty store for these projections. It keeps only the rows that the options select. */
export const openMemoryStore = (projections: readonly AnyProjection[], options: CollectOptions = {}): MemoryStore => {
  const states = new Map(projections.map((projection) => [projection.name, emptyState(projection)]));
  const stateOf = (name: string): ProjectionState => {
    const found = states.get(name);
    if (!found) throw new Error(`there is no projection ${name}`);
    return found;
  };
  return {
    feed: (events) => {
      for (const state of states.values()) feedProjection(state, events, options);
    },
    rows: (projection, table) => {
      const rows = stateOf(projection).tables.get(table);
      if (!rows) throw new Error(`projection ${projection} has no table ${table}`);
      return rows;
    },
    unapplied: (projection) => stateOf(projection).unapplied,
  };
};
