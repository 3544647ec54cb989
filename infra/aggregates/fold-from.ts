import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import type { DomainEvent, Recorded } from '../../domain/event.ts';
import type { Transient } from '../../domain/immutable-record.ts';

/** The aggregate before its first event. */
export const emptyAggregate = <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string): Loaded<S> => ({
  id,
  state: aggregate.initial,
  revision: -1,
  position: null,
});

/**
 * The aggregate after one more event. With `transient`, states between the first and the last event of a fold may share
 * memory.
 */
export const applyEvent = <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  loaded: Loaded<S>,
  event: Recorded<E>,
  transient?: Transient,
): Loaded<S> => ({
  id: loaded.id,
  state: aggregate.evolve(loaded.state, event, transient),
  revision: event.revision,
  position: event.position,
});

/** Folds the events that follow a known state. Passes on the errors of `events`. */
export const foldFrom = async <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  from: Loaded<S>,
  events: AsyncIterable<Recorded>,
): Promise<Loaded<S>> => {
  const transient: Transient = new WeakSet();
  let loaded = from;
  for await (const event of events) loaded = applyEvent(aggregate, loaded, event as Recorded<E>, transient);
  return loaded;
};
