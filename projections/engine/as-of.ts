import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { AnyProjection } from '../projection.ts';
import type { StoredRow } from './compiled-projection.ts';
import { openMemoryStore } from './memory-store.ts';

/**
 * The rows that the given events make of one table, by key text, up to and with a position. The events are those of the resources' own
 * streams, each in order; what they change in other tables is left out, and so is what other streams changed in this one (counters).
 */
export const asOf = (
  projection: AnyProjection,
  table: string,
  events: Iterable<Recorded>,
  until: Position,
): ReadonlyMap<string, StoredRow> => {
  const sink = openMemoryStore([projection], (name) => name === table);
  const past = Iterator.from(events).filter(({ position }) => comparePositions(position, until) <= 0);
  sink.feed(past.toArray().sort((a, b) => comparePositions(a.position, b.position)));
  return sink.rows(projection.name, table);
};
