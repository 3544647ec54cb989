import { hash } from 'node:crypto';
import type { RequestInfo } from '../../api/http/runtime.ts';
import type { Loaded } from '../../commands/context.ts';
import type { Aggregate, Decision } from '../../domain/aggregate.ts';
import { type DomainEvent, type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Appended, isConflict, type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import type { AggregateCache } from './aggregate-cache.ts';
import { emptyAggregate, foldFrom } from './fold-from.ts';
import { withSnapshot } from './snapshots.ts';

const MAX_ATTEMPTS = 100;

export const derivedId = (...parts: (string | number)[]): string => {
  const hex = hash('sha256', parts.join('\0'), 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

export type Transaction<S, E extends DomainEvent> = {
  readonly aggregate: Aggregate<S, E>;
  readonly tenant: string;
  readonly id: string;
  readonly decide: Decision<S, E>;
  readonly meta: Metadata;
  /** Event ids are derived from the stream and this seed, so the log recognizes a second append with the same seed as a repeat. */
  readonly seed: string;
  /** Whether to decide first as if the stream did not exist: creating a resource then takes a single request to the log. */
  readonly expectNew?: boolean;
  readonly ifMatch?: RequestInfo['ifMatch'];
  /** True if no later event can change the state: a cached one that leads to no event then needs no check against the log. */
  readonly trustCacheWhen?: ((state: S) => boolean) | undefined;
  /** Whether an earlier run may have been interrupted: the log is then searched for its events before a decision is made. */
  readonly resumed?: boolean;
};

/** A state from memory is not confirmed: the log may contain later events. */
type Basis<S> = { readonly loaded: Loaded<S>; readonly isConfirmed: boolean };

/** Throws errors other than those of the log unchanged. @throws Refusal unavailable, too_large, not_found if the stream was erased */
export const throwAsRefusal = (error: unknown): never => {
  if (!(error instanceof LogError)) throw error;
  if (error.kind === 'unavailable') throw new Refusal('unavailable', 'The event store cannot be reached: try again', { retryAfter: 2 });
  if (error.kind === 'too-large') throw new Refusal('too_large', error.message);
  if (error.kind === 'gone') throw new Refusal('not_found', 'The resource was erased');
  throw error;
};

const assertMatch = (ifMatch: RequestInfo['ifMatch'] | undefined, revision: number): void => {
  if (ifMatch === undefined || ifMatch === null) return;
  if (ifMatch === '*' ? revision >= 0 : ifMatch.includes(revision)) return;
  throw new Refusal('precondition_failed', revision < 0 ? 'the resource does not exist' : `the resource is at revision ${revision}`);
};

/**
 * Returns null if the state is not confirmed, and the decision throws or returns no events: read the log and decide again.
 * @throws Refusal of the decision on a confirmed state
 */
const decideOn = <S, E extends DomainEvent>(
  { decide, ifMatch, trustCacheWhen }: Transaction<S, E>,
  { loaded, isConfirmed }: Basis<S>,
): readonly E[] | null => {
  try {
    // Decide before If-Match is checked: a caller whose request is refused must not learn the revision.
    const events = decide(loaded.state);
    assertMatch(ifMatch, loaded.revision);
    return events.length > 0 || isConfirmed || trustCacheWhen?.(loaded.state) ? events : null;
  } catch (error) {
    if (isConfirmed) throw error;
    return null;
  }
};

type Batch<S, E extends DomainEvent> = {
  readonly transaction: Transaction<S, E>;
  readonly stream: string;
  readonly before: Loaded<S>;
  readonly events: readonly NewEvent[];
};

/** The log returns only the position of the last event, so all events of the append are folded with it. */
const stateAfter = <S, E extends DomainEvent>(
  { transaction: { aggregate, tenant, id }, stream, before, events }: Batch<S, E>,
  { revision, position }: Appended,
): Loaded<S> => {
  const firstRevision = revision - events.length + 1;
  let state = before.state;
  for (const [index, { id: event_id, type, data, meta }] of events.entries())
    state = aggregate.evolve(state, {
      type,
      data,
      event_id,
      stream,
      category: aggregate.category,
      tenant,
      id,
      revision: firstRevision + index,
      position,
      at: meta.at,
      actor: meta.actor,
      meta,
    } as Recorded as Recorded<E>);
  return { id, state, revision, position };
};

/**
 * If the stream has changed since it was read, the append fails: the new events are read, and the decision is made again.
 * @throws Refusal of the decision, precondition_failed, unavailable
 */
export const createTransact = (log: Log, cache: AggregateCache) => {
  /** Returns the state after the events that an earlier run of this request appended; null if there are none. */
  const findOwnWrite = async <S, E extends DomainEvent>(
    { aggregate, id, seed }: Transaction<S, E>,
    stream: string,
  ): Promise<Loaded<S> | null> => {
    let found = 0;
    const throughOwnEvents = async function* (): AsyncGenerator<Recorded> {
      for await (const event of log.read(stream)) {
        const isOwn = event.event_id === derivedId(stream, seed, found);
        if (found > 0 && !isOwn) return;
        if (isOwn) found++;
        yield event;
      }
    };
    const loaded = await foldFrom(aggregate, emptyAggregate(aggregate, id), throughOwnEvents());
    return found > 0 ? loaded : null;
  };

  const basisInMemory = <S, E extends DomainEvent>({ aggregate, tenant, id, expectNew }: Transaction<S, E>): Basis<S> | null => {
    const loaded = cache.peek(aggregate, tenant, id) ?? (expectNew ? emptyAggregate(aggregate, id) : null);
    return loaded && { loaded, isConfirmed: false };
  };

  const loadBasis = async <S, E extends DomainEvent>({ aggregate, tenant, id }: Transaction<S, E>): Promise<Basis<S>> => ({
    loaded: await cache.load(aggregate, tenant, id),
    isConfirmed: true,
  });

  /** Returns the state after the events; null on a conflict. @throws Refusal, LogError */
  const append = async <S, E extends DomainEvent>(batch: Batch<S, E>): Promise<Loaded<S> | null> => {
    const { transaction, stream, before, events } = batch;
    try {
      const appended = await log.append(stream, before.revision < 0 ? 'none' : before.revision, events);
      const after = stateAfter(batch, appended);
      const cached = cache.peek(transaction.aggregate, transaction.tenant, transaction.id);
      if (!cached || cached.revision < after.revision) cache.put(stream, after);
      return after;
    } catch (error) {
      return isConflict(error) ? null : throwAsRefusal(error);
    }
  };

  return async <S, E extends DomainEvent>(transaction: Transaction<S, E>): Promise<Loaded<S>> => {
    const { aggregate, tenant, id, meta, seed } = transaction;
    const stream = streamName(aggregate.category, tenant, id);
    const previousWrite = transaction.resumed ? await findOwnWrite(transaction, stream) : null;
    if (previousWrite) return previousWrite;
    let basis = basisInMemory(transaction) ?? (await loadBasis(transaction));
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const decided = decideOn(transaction, basis);
      if (decided?.length === 0) return basis.loaded;
      const events = decided?.map(({ type, data }, index) => ({ id: derivedId(stream, seed, index), type, data, meta }));
      const before = basis.loaded;
      const after = events && (await append({ transaction, stream, before, events: withSnapshot(aggregate, before, events) }));
      if (after) return after;
      basis = { loaded: await cache.refresh(aggregate, tenant, id), isConfirmed: true };
    }
    throw new Refusal('conflict', 'Too many requests change this resource at the same time: try again', { retryAfter: 1 });
  };
};
