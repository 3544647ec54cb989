import type { AggregateReader, Loaded } from '../../commands/context.ts';
import type { Aggregate, AnyAggregate } from '../../domain/aggregate.ts';
import { type DomainEvent, type Recorded, streamName } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { createAggregateLoader } from './aggregate-loader.ts';
import { createAggregateMemory, type MemoryBounds } from './aggregate-memory.ts';
import { createCacheSubscription } from './cache-subscription.ts';
import { applyEvent, emptyAggregate } from './fold-from.ts';
import { loadStream } from './snapshots.ts';

/** Keeps the states of aggregates in bounded memory. A subscription to the log applies new events to these states. */
export type AggregateCache = AggregateReader & {
  /** Reads the events after the cached revision from the log, and returns the state after them. @throws LogError */
  readonly refresh: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  readonly put: <S>(stream: string, loaded: Loaded<S>) => void;
  /** Starts the subscription, which delivers the events appended from now on. @throws LogError */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Options = Partial<MemoryBounds> & {
  /** Aggregates whose missing streams are remembered, too, until their first event arrives. They must be in `followed`. */
  readonly cacheAbsent?: readonly AnyAggregate[];
};

/**
 * Requests use cached states of `followed` aggregates without appending, so a subscription keeps them current. Other cached states can be
 * outdated: an append based on one fails with a conflict, and the caller then calls `refresh`.
 */
export const openAggregateCache = (
  log: Log,
  followed: readonly AnyAggregate[],
  { capacity = 20_000, maxWeight = 48_000_000, cacheAbsent = [] }: Options = {},
): AggregateCache => {
  const byCategory = new Map(followed.map((aggregate) => [aggregate.category, aggregate]));
  const memory = createAggregateMemory({ capacity, maxWeight });

  /** Caches a state. Does nothing while the subscription is lost, because nothing would update the cached state. */
  const put = (stream: string, loaded: Loaded<unknown>): void => {
    if (!subscription.isLost()) memory.put(stream, loaded);
  };

  /** Does nothing while there is no subscription, because only it reports the first event of the stream. */
  const putAbsent = (aggregate: AnyAggregate, stream: string, empty: Loaded<unknown>): void => {
    if (subscription.isActive() && cacheAbsent.includes(aggregate)) memory.putAbsent(stream, empty);
  };

  const read = async (aggregate: AnyAggregate, stream: string, id: string): Promise<Loaded<unknown>> => {
    const epoch = subscription.epoch();
    const known = memory.get(stream) ?? emptyAggregate(aggregate, id);
    const loaded = await loadStream(log, aggregate, stream, { known });
    const newer = memory.get(stream);
    if (newer && newer.revision > loaded.revision) return newer;
    if (epoch !== subscription.epoch()) return loaded;
    if (loaded.revision >= 0) put(stream, loaded);
    else putAbsent(aggregate, stream, loaded);
    return loaded;
  };

  const loader = createAggregateLoader(read);

  const onEvent = (event: Recorded): void => {
    loader.onEvent(event.stream, event.revision);
    memory.deleteAbsent(event.stream);
    const known = memory.peekPresent(event.stream);
    const aggregate = byCategory.get(event.category);
    if (!known || !aggregate || event.revision <= known.revision) return;
    const isNext = event.revision === known.revision + 1;
    if (isNext) put(event.stream, applyEvent(aggregate, known, event));
    else memory.deletePresent(event.stream);
  };

  const subscription = createCacheSubscription({ log, categories: [...byCategory.keys()], onEvent, onLost: memory.clear });

  const loadCached = (aggregate: AnyAggregate, tenant: string, id: string): Loaded<never> | Promise<Loaded<never>> => {
    const stream = streamName(aggregate.category, tenant, id);
    return (memory.get(stream) as Loaded<never> | undefined) ?? (loader.join(aggregate, stream, id) as Promise<Loaded<never>>);
  };

  return {
    peek: (aggregate, tenant, id) => memory.get(streamName(aggregate.category, tenant, id)) as Loaded<never> | undefined,
    load: (aggregate, tenant, id) => Promise.resolve(loadCached(aggregate, tenant, id)),
    loadCached,
    refresh: (aggregate, tenant, id) => loader.start(aggregate, streamName(aggregate.category, tenant, id), id) as Promise<Loaded<never>>,
    put,
    start: subscription.start,
    close: subscription.close,
  };
};
