import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import { comparePositions, type DomainEvent, type Position, type Recorded, streamName } from '../../domain/event.ts';
import type { StreamRevision } from '../../domain/idempotency-key.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { AggregateCache } from './aggregate-cache.ts';
import { emptyAggregate, foldFrom } from './fold-from.ts';
import { loadStream } from './snapshots.ts';
import { throwAsRefusal } from './transact.ts';

/** Converts errors of the log to refusals. @throws Refusal unavailable if the log is down */
export async function* withRefusals<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    throwAsRefusal(error);
  }
}

async function* upTo(position: Position, events: AsyncIterable<Recorded>): AsyncGenerator<Recorded> {
  for await (const event of events) {
    if (comparePositions(event.position, position) > 0) return;
    yield event;
  }
}

export const createPastStates = (log: Log, cache: Pick<AggregateCache, 'peek'>) => {
  const historyOf = <S, E extends DomainEvent>(
    { category }: Aggregate<S, E>,
    tenant: string,
    id: string,
    options: { from?: number; limit?: number } = {},
  ): AsyncIterable<Recorded<E>> => log.read(streamName(category, tenant, id), options) as AsyncIterable<Recorded<E>>;

  return {
    historyOf,
    /** Revision -1 is the state before the first event. @throws LogError */
    stateAtRevision: async <S, E extends DomainEvent>(
      aggregate: Aggregate<S, E>,
      id: string,
      { stream, revision }: StreamRevision,
    ): Promise<Loaded<S>> => {
      const empty = emptyAggregate(aggregate, id);
      return revision < 0 ? empty : loadStream(log, aggregate, stream, { known: empty, until: revision });
    },
    /** Uses the cached state if its last event has exactly this position. @throws Refusal */
    stateAtPosition: async <S, E extends DomainEvent>(
      aggregate: Aggregate<S, E>,
      tenant: string,
      id: string,
      position: Position,
    ): Promise<Loaded<S>> => {
      const cached = cache.peek(aggregate, tenant, id);
      if (cached?.position && comparePositions(cached.position, position) === 0) return cached;
      return foldFrom(aggregate, emptyAggregate(aggregate, id), upTo(position, withRefusals(historyOf(aggregate, tenant, id))));
    },
  };
};
