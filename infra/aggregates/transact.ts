import { hash } from 'node:crypto';
import type { RequestInfo } from '../../api/http/runtime.ts';
import type { Loaded } from '../../commands/context.ts';
import type { Aggregate, Decision } from '../../domain/aggregate.ts';
import { type DomainEvent, type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import { type AggregateCache, emptyAggregate, foldFrom } from './aggregate-cache.ts';

const ATTEMPTS = 100;

/** A UUID that depends on its parts alone. */
export const derivedId = (...parts: (string | number)[]): string => {
  const hex = hash('sha256', parts.join('\0'), 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

export type AppendOptions<S> = {
  meta: Metadata;
  /** Event ids are derived from it and the stream: the same seed again is recognised as the same request. */
  seed: string;
  /** Begin as if there were no stream: a creation is then one round trip. */
  expectNew?: boolean;
  ifMatch?: RequestInfo['ifMatch'];
  /** Of such a state memory is believed. */
  trustCacheWhen?: ((state: S) => boolean) | undefined;
  /** The request was begun before by a process that may have died: look for its events first. */
  resumed?: boolean;
};

/** @throws Refusal: unavailable where the log is down, not_found where the stream was tombstoned, too_large */
export const throwAsRefusal = (error: unknown): never => {
  if (!(error instanceof LogError)) throw error;
  if (error.kind === 'unavailable') throw new Refusal('unavailable', 'the event store can not be reached', { retryAfter: 2 });
  if (error.kind === 'too-large') throw new Refusal('too_large', error.message);
  if (error.kind === 'gone') throw new Refusal('not_found', 'this was erased');
  throw error;
};

const checkMatch = (ifMatch: RequestInfo['ifMatch'] | undefined, revision: number): void => {
  if (ifMatch === undefined || ifMatch === null) return;
  if (ifMatch === '*' ? revision >= 0 : ifMatch.includes(revision)) return;
  throw new Refusal('precondition_failed', revision < 0 ? 'there is no such resource' : `the resource is at revision ${revision}`);
};

const recordedOf = (
  stream: string,
  aggregate: { category: string },
  tenant: string,
  id: string,
  events: readonly NewEvent[],
  revision: number,
  position: Recorded['position'],
): Recorded[] =>
  events.map((event, index) => ({
    type: event.type,
    data: event.data,
    event_id: event.id,
    stream,
    category: aggregate.category,
    tenant,
    id,
    revision: revision + index,
    position,
    at: event.meta.at,
    actor: event.meta.actor,
    meta: event.meta,
  }));

/** Loads, decides, appends at the revision that was read; on a conflict folds what came between and decides again. */
export const createTransact = (log: Log, cache: AggregateCache) => {
  /** The state right behind this request's own events, where an earlier life of it wrote them. */
  const ownWrite = async <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    stream: string,
    id: string,
    seed: string,
  ): Promise<Loaded<S> | null> => {
    let index = 0;
    const throughOurs = async function* (): AsyncGenerator<Recorded> {
      for await (const event of log.read(stream)) {
        const ours = event.event_id === derivedId(stream, seed, index);
        if (index > 0 && !ours) return;
        if (ours) index++;
        yield event;
      }
    };
    const loaded = await foldFrom(aggregate, emptyAggregate(aggregate, id), throughOurs());
    return index > 0 ? loaded : null;
  };

  return async <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    tenant: string,
    id: string,
    decide: Decision<S, E>,
    writing: AppendOptions<S>,
  ): Promise<Loaded<S>> => {
    const stream = streamName(aggregate.category, tenant, id);
    if (writing.resumed) {
      const own = await ownWrite(aggregate, stream, id, writing.seed);
      if (own) return own;
    }
    const warm = cache.peek(aggregate, tenant, id);
    let loaded: Loaded<S> = warm ?? (writing.expectNew ? emptyAggregate(aggregate, id) : await cache.load(aggregate, tenant, id));
    // What memory says may be behind another process: a refusal or a 'nothing to do' is believed of the log alone.
    let sure = !warm && !writing.expectNew;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      let decided: readonly E[];
      try {
        // First what the request would meet without its condition: a revision is told to nobody who would be refused.
        decided = decide(loaded.state);
        checkMatch(writing.ifMatch, loaded.revision);
      } catch (error) {
        if (sure) throw error;
        loaded = await cache.refresh(aggregate, tenant, id);
        sure = true;
        continue;
      }
      if (decided.length === 0 && !sure && !writing.trustCacheWhen?.(loaded.state)) {
        loaded = await cache.refresh(aggregate, tenant, id);
        sure = true;
        continue;
      }
      if (decided.length === 0) return loaded;
      const events = decided.map(({ type, data }, index) => ({
        id: derivedId(stream, writing.seed, index),
        type,
        data,
        meta: writing.meta,
      }));
      try {
        const { revision, position } = await log.append(stream, loaded.revision < 0 ? 'none' : loaded.revision, events);
        const first = revision - events.length + 1;
        let state = loaded.state;
        for (const event of recordedOf(stream, aggregate, tenant, id, events, first, position))
          state = aggregate.evolve(state, event as Recorded<E>);
        const after: Loaded<S> = { id, state, revision, position };
        const known = cache.peek(aggregate, tenant, id);
        if (!known || known.revision < revision) cache.put(stream, after);
        return after;
      } catch (error) {
        if (!(error instanceof LogError) || error.kind !== 'conflict') return throwAsRefusal(error);
        loaded = await cache.refresh(aggregate, tenant, id);
        sure = true;
      }
    }
    throw new Refusal('conflict', 'too many others write here at once', { retryAfter: 1 });
  };
};
