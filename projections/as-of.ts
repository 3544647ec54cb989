import { comparePositions, type Position, type Recorded } from '../domain/event.ts';
import { memorySink } from './memory.ts';
import type { Held } from './plan.ts';
import type { AnyProjection } from './projection.ts';

/** Up to and with a position of the log, or up to and with an instant (RFC 3339). */
export type Moment = { readonly position: Position } | { readonly at: string };

/** One table as it was: its rows by key text, and the position that the moment resolved to (null: before the first event). */
export type Then = { readonly rows: ReadonlyMap<string, Held>; readonly position: Position | null };

const until = (moment: Moment): ((event: Recorded) => boolean) => {
  if ('position' in moment) return ({ position }) => comparePositions(position, moment.position) <= 0;
  const end = Date.parse(moment.at);
  return ({ at }) => Date.parse(at) <= end;
};

/**
 * The rows that the given events make of one table, as of a moment. The events are those of the resources' own streams, each in order;
 * what they change in other tables is left out, and so is what other streams changed in this one (counters).
 */
export const asOf = (projection: AnyProjection, table: string, events: Iterable<Recorded>, moment: Moment): Then => {
  const sink = memorySink([projection], (name) => name === table);
  const past = Iterator.from(events).filter(until(moment)).toArray();
  const ordered = past.sort((a, b) => comparePositions(a.position, b.position));
  sink.feed(ordered);
  return { rows: sink.rows(projection.name, table), position: ordered.at(-1)?.position ?? null };
};
