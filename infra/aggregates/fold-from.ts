import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import type { DomainEvent, Recorded } from '../../domain/event.ts';
import type { Transient } from '../../domain/immutable-record.ts';

export const emptyAggregate = <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string): Loaded<S> => ({
  id,
  state: aggregate.initial,
  revision: -1,
  position: null,
});

/** All calls of one fold pass the same `transient`: the first change of a record copies it, later ones modify the copy. */
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
