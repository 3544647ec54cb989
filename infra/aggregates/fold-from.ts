import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import type { DomainEvent, Recorded } from '../../domain/event.ts';
import type { Transient } from '../../domain/immutable-record.ts';

/** Returns the state that an aggregate has before its first event. */
export const emptyAggregate = <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string): Loaded<S> => ({
  id,
  state: aggregate.initial,
  revision: -1,
  position: null,
});

/**
 * Returns the aggregate after one more event. Calls with the same `transient` belong to one fold: an immutable record
 * that was copied earlier in that fold is changed in place, and not copied again.
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

/** Returns the state after applying `events` to the state `from`. @throws the errors of `events` */
export const foldFrom = async <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  from: Loaded<S>,
  events: AsyncIterable<Recorded> | Iterable<Recorded>,
): Promise<Loaded<S>> => {
  const transient: Transient = new WeakSet();
  let loaded = from;
  for await (const event of events) loaded = applyEvent(aggregate, loaded, event as Recorded<E>, transient);
  return loaded;
};
