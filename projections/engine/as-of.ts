import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { AnyProjection } from '../projection.ts';
import type { StoredRow } from './compiled-projection.ts';
import { openMemoryStore } from './memory-store.ts';

/**
 * The rows of one table, by key text, as events up to and including the position `until` define them. `events` are
 * those of the resources' own streams, each stream in order. Changes by other streams (counters) are therefore not
 * included, nor are changes of other tables.
 */
export const asOf = (
  projection: AnyProjection,
  table: string,
  events: Iterable<Recorded>,
  until: Position,
): ReadonlyMap<string, StoredRow> => {
  const store = openMemoryStore([projection], (name) => name === table);
  const included = Iterator.from(events).filter(({ position }) => comparePositions(position, until) <= 0);
  store.feed(included.toArray().sort((a, b) => comparePositions(a.position, b.position)));
  return store.rows(projection.name, table);
};
