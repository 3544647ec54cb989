import { setTimeout as pause } from 'node:timers/promises';
import type { AggregateReader, Loaded } from '../../commands/context.ts';
import type { Aggregate, AnyAggregate } from '../../domain/aggregate.ts';
import { type DomainEvent, type Recorded, streamName } from '../../domain/event.ts';
import type { Transient } from '../../domain/immutable-record.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';

const RESUBSCRIBE_DELAY_MS = 500;

/** Folded aggregates in memory, bounded, and kept coherent by a live subscription to their categories. */
export type AggregateCache = AggregateReader & {
  /** Reads what the log has behind the known revision. */
  refresh: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  put: <S>(stream: string, loaded: Loaded<S>) => void;
  start: () => Promise<void>;
  close: () => Promise<void>;
};

const advance = <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  loaded: Loaded<S>,
  event: Recorded<E>,
  own?: Transient,
): Loaded<S> => ({
  id: loaded.id,
  state: aggregate.evolve(loaded.state, event, own),
  revision: event.revision,
  position: event.position,
});

/** What the events behind a state make of it. */
export const foldFrom = async <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  from: Loaded<S>,
  events: AsyncIterable<Recorded>,
): Promise<Loaded<S>> => {
  const own: Transient = new WeakSet();
  let loaded = from;
  for await (const event of events) loaded = advance(aggregate, loaded, event as Recorded<E>, own);
  return loaded;
};

export const emptyAggregate = <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string): Loaded<S> => ({
  id,
  state: aggregate.initial,
  revision: -1,
  position: null,
});

const MIN_WEIGHT = 512;
const ENTRY = 256;

/** What a state takes of memory, in characters, as far as a glance tells: its texts, and so much for each entry of what it lists. */
const weightOf = ({ state }: Loaded<unknown>): number => {
  let weight = MIN_WEIGHT;
  const fields = state as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string') weight += value.length;
    else if (typeof value === 'object' && value !== null) weight += ENTRY * Object.keys(value).length;
  }
  return weight;
};

/**
 * `followed`: the aggregates that are read without being appended to; the others are coherent by conflict alone. `missed`: those of the followed
 * of which it is remembered, too, that a stream is not there, until its first event comes. They lie apart, so that asking for what is
 * not there drives out nothing that is. `room`: in characters, half of what all states may take together.
 */
export const openAggregateCache = (
  log: Log,
  followed: readonly AnyAggregate[],
  {
    capacity = 20_000,
    room = 48_000_000,
    missed: cacheAbsent = [],
  }: { readonly capacity?: number; readonly room?: number; readonly missed?: readonly AnyAggregate[] } = {},
): AggregateCache => {
  const byCategory = new Map(followed.map((aggregate) => [aggregate.category, aggregate]));
  const present = createLruMap<string, Loaded<unknown>>({ capacity, maxWeight: room, weightOf });
  const absent = createLruMap<string, Loaded<unknown>>({ capacity: capacity / 2 });
  const loading = new Map<string, { seen: number; work: Promise<Loaded<unknown>> }>();
  let subscription: Subscription | undefined;
  let isDisconnected = false;
  /** What was begun to be read before the log was followed anew may be older than where that began. */
  let epoch = 0;
  let closed = false;

  const put = (stream: string, loaded: Loaded<unknown>) => {
    if (isDisconnected) return;
    absent.delete(stream);
    present.set(stream, loaded);
  };

  const get = (stream: string): Loaded<unknown> | undefined => present.get(stream) ?? absent.get(stream);

  /** Only while the log is followed would anybody hear that it is there now. */
  const miss = (aggregate: AnyAggregate, stream: string, empty: Loaded<unknown>) => {
    if (!subscription || isDisconnected || !cacheAbsent.includes(aggregate)) return;
    absent.set(stream, empty);
  };

  const read = async (aggregate: AnyAggregate, stream: string, id: string): Promise<Loaded<unknown>> => {
    const began = epoch;
    const known = get(stream) ?? emptyAggregate(aggregate, id);
    const loaded = await foldFrom(aggregate, known, log.read(stream, { from: known.revision + 1 }));
    const newer = get(stream);
    if (newer && newer.revision > loaded.revision) return newer;
    if (began !== epoch) return loaded;
    if (loaded.revision >= 0) put(stream, loaded);
    else miss(aggregate, stream, loaded);
    return loaded;
  };

  /** One read at a time for a stream; an event that the subscription brings meanwhile makes it read again. */
  const refresh = (aggregate: AnyAggregate, tenant: string, id: string, joined = false): Promise<Loaded<never>> => {
    const stream = streamName(aggregate.category, tenant, id);
    const running = loading.get(stream);
    if (running && joined) return running.work as Promise<Loaded<never>>;
    const entry = { seen: -1, work: Promise.resolve(emptyAggregate(aggregate, id)) as Promise<Loaded<unknown>> };
    entry.work = (async () => {
      for (;;) {
        const loaded = await read(aggregate, stream, id);
        if (entry.seen <= loaded.revision) return loaded;
      }
    })().finally(() => {
      if (loading.get(stream) === entry) loading.delete(stream);
    });
    loading.set(stream, entry);
    return entry.work as Promise<Loaded<never>>;
  };

  const onEvent = (event: Recorded) => {
    const running = loading.get(event.stream);
    if (running) running.seen = Math.max(running.seen, event.revision);
    absent.delete(event.stream);
    const known = present.peek(event.stream);
    const aggregate = byCategory.get(event.category);
    if (!known || !aggregate || event.revision <= known.revision) return;
    if (event.revision === known.revision + 1) return put(event.stream, advance(aggregate, known, event));
    present.delete(event.stream);
  };

  const clear = (): void => {
    absent.clear();
    present.clear();
  };

  const follow = async (): Promise<void> => {
    const [end] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
    const following = log.follow({
      ...(end ? { from: end.position } : {}),
      filter: { streamPrefixes: [...byCategory.keys()].map((category) => `${category}-`) },
      event: onEvent,
    });
    subscription = following;
    void following.failure.then((error) => error && onSubscriptionLost());
  };

  /** Nobody says any more what changes (the log is harmed where it is followed): nothing is kept until it is followed again, from its end. */
  const onSubscriptionLost = async (): Promise<void> => {
    for (isDisconnected = true; isDisconnected && !closed; ) {
      clear();
      await pause(RESUBSCRIBE_DELAY_MS);
      if (closed) return;
      await follow().then(
        () => {
          epoch++;
          isDisconnected = false;
        },
        () => {},
      );
    }
  };

  const loadCached = (aggregate: AnyAggregate, tenant: string, id: string): Loaded<never> | Promise<Loaded<never>> =>
    (get(streamName(aggregate.category, tenant, id)) as Loaded<never> | undefined) ?? refresh(aggregate, tenant, id, true);

  return {
    peek: (aggregate, tenant, id) => get(streamName(aggregate.category, tenant, id)) as never,
    load: (aggregate, tenant, id) => Promise.resolve(loadCached(aggregate, tenant, id)),
    loadCached,
    refresh,
    put,
    start: follow,
    close: async () => {
      closed = true;
      await subscription?.stop();
    },
  };
};
