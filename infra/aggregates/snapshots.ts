import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import type { DomainEvent, Recorded } from '../../domain/event.ts';
import type { Log, NewEvent } from '../eventstore/event-log.ts';
import { foldFrom } from './fold-from.ts';

/** Adds a snapshot to the first event if one of the revisions is a multiple of the interval. `state` is the one before the events. */
export const withSnapshot = <S, E extends DomainEvent>(
  { snapshots }: Aggregate<S, E>,
  { state, revision }: Loaded<S>,
  events: readonly NewEvent[],
): readonly NewEvent[] => {
  if (!snapshots || revision < 0) return events;
  const { version, interval } = snapshots;
  const isDue = Math.floor((revision + events.length) / interval) > Math.floor(revision / interval);
  if (!isDue) return events;
  return events.map((event, index) => (index === 0 ? { ...event, meta: { ...event.meta, stateBefore: { version, state } } } : event));
};

/** The snapshot is the state before this event. Null if there is none of this version. */
const snapshotIn = <S>({ id, meta: { stateBefore }, revision }: Recorded, version: number): Loaded<S> | null =>
  stateBefore?.version === version ? { id, state: stateBefore.state as S, revision: revision - 1, position: null } : null;

/** The events after the state `known`, up to the revision `until`; without `until`, up to the end. */
type Range<S> = { readonly known: Loaded<S>; readonly until?: number };

/**
 * Reads the stream backwards until it finds a snapshot or reaches the known state, and returns the state after the last
 * event; null if it finds neither. At most two intervals of events are read: one append may contain up to `interval`
 * events, so the last snapshot can be that far back.
 */
const loadFromLastEvents = async <S, E extends DomainEvent>(
  log: Log,
  aggregate: Aggregate<S, E>,
  stream: string,
  { known, until }: Range<S>,
): Promise<Loaded<S> | null> => {
  const { version, interval } = aggregate.snapshots!;
  const events: Recorded[] = [];
  let start: Loaded<S> | null = null;
  for await (const event of log.read(stream, { backwards: true, limit: 2 * interval, ...(until === undefined ? {} : { from: until }) })) {
    if (event.revision > known.revision) events.push(event);
    start = event.revision <= known.revision + 1 ? known : snapshotIn(event, version);
    if (start) break;
  }
  if (events.length === 0) return known;
  return start && foldFrom(aggregate, start, events.reverse());
};

/** If the aggregate has snapshots, reads only the last events, unless none of them has the current version. @throws LogError */
export const loadStream = async <S, E extends DomainEvent>(
  log: Log,
  aggregate: Aggregate<S, E>,
  stream: string,
  range: Range<S>,
): Promise<Loaded<S>> => {
  const loaded = aggregate.snapshots ? await loadFromLastEvents(log, aggregate, stream, range) : null;
  if (loaded) return loaded;
  const { known, until } = range;
  const from = known.revision + 1;
  return foldFrom(aggregate, known, log.read(stream, { from, ...(until === undefined ? {} : { limit: until + 1 - from }) }));
};
