import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { AnyProjection } from '../projection.ts';
import type { StoredRow } from './compiled-projection.ts';
import { openMemoryStore } from './memory-store.ts';

/**
 * Returns the rows of one table as they were at the log position `until` (inclusive), as a map from key texts to rows.
 * `events` must contain only events of the streams to which the table's rows belong, in order within each stream. So
 * changes that events of other streams cause, for example to a counter, are missing.
 */
export const asOf = (
  projection: AnyProjection,
  table: string,
  events: Iterable<Recorded>,
  until: Position,
): ReadonlyMap<string, StoredRow> => {
  const store = openMemoryStore([projection], { only: (name) => name === table });
  const included = Iterator.from(events).filter(({ position }) => comparePositions(position, until) <= 0);
  store.feed(included.toArray().sort((a, b) => comparePositions(a.position, b.position)));
  return store.rows(projection.name, table);
};
