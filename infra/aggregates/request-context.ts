import { createHmac, randomInt, randomUUID } from 'node:crypto';
import type { Ctx } from '../../api/http/operation.ts';
import type { RequestInfo } from '../../api/http/runtime.ts';
import type { Authorize } from '../../commands/access/authorize.ts';
import type { Loaded } from '../../commands/context.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import {
  type Actor,
  comparePositions,
  type DomainEvent,
  type Metadata,
  PLATFORM,
  type Position,
  type Recorded,
  streamName,
  tokenOf,
} from '../../domain/event.ts';
import type { StreamRevision } from '../../domain/idempotency-key.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import { type AggregateCache, emptyAggregate, foldFrom } from './aggregate-cache.ts';
import { createTransact, throwAsRefusal } from './transact.ts';

export type ContextDeps = {
  readonly log: Log;
  readonly cache: AggregateCache;
  readonly vault: Vault;
  readonly reads: Reads;
  readonly authorize: Authorize;
  readonly publicUrl: string;
  readonly now: () => number;
};

/** How a request is run: once, again after a crash, or only to render its answer again. */
export type Execution = {
  /** What event ids, new ids and secrets are derived from; unguessable. */
  readonly seed: string;
  /** The same seed may come again: ids and secrets have to come out the same. */
  readonly repeatable: boolean;
  readonly resumed: boolean;
  /** The streams at the revisions at which the first run left them; nothing is written. */
  readonly replay: readonly StreamRevision[] | null;
  readonly touched: StreamRevision[];
  /** What `once` found, in order; a repeat begins with what the first run ended with. */
  readonly found: unknown[];
};

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

export const newExecution = (): Execution => ({
  seed: randomUUID(),
  repeatable: false,
  resumed: false,
  replay: null,
  touched: [],
  found: [],
});

/** How a caller stands in the events that they cause. */
export const actorOf = (principal: Principal): Actor => {
  if (principal.kind === 'user') return { kind: 'user', id: principal.user_id, key_id: principal.key_id };
  if (principal.kind === 'runner') return { kind: 'agent', id: principal.agent_id, key_id: principal.key_id };
  return { kind: 'system', id: principal.name };
};

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Unbiased characters of an alphabet from a keyed stream: the same for the same key and label. */
const derivedText = (key: string, label: string, alphabet: string, length: number): string => {
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  for (let block = 0; text.length < length; block++)
    for (const byte of createHmac('sha256', key).update(`${label}\0${block}`).digest())
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length];
  return text;
};

/** @throws Refusal unavailable where the log is down */
async function* withRefusals<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    throwAsRefusal(error);
  }
}

async function* upTo(until: Position, events: AsyncIterable<Recorded>): AsyncGenerator<Recorded> {
  for await (const event of events) {
    if (comparePositions(event.position, until) > 0) return;
    yield event;
  }
}

/** Builds the context of a request from what it asked and how it is run. */
export const createContextFactory = (deps: ContextDeps) => {
  const { log, cache, vault, reads, authorize, publicUrl } = deps;
  const transact = createTransact(log, cache);

  const stateAt = async <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    { stream, revision }: StreamRevision,
  ): Promise<Loaded<S>> => {
    const empty = emptyAggregate(aggregate, id);
    return revision < 0 ? empty : foldFrom(aggregate, empty, log.read(stream, { limit: revision + 1 }));
  };

  const historyOf = <S, E extends DomainEvent>(
    { category }: Aggregate<S, E>,
    tenant: string,
    id: string,
    options: { from?: number; limit?: number } = {},
  ) => log.read(streamName(category, tenant, id), options) as AsyncIterable<Recorded<E>>;

  /** The state as the events up to a position left it; the last of them may be the last that memory knows of. */
  const loadUntil = async <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    tenant: string,
    id: string,
    until: Position,
  ): Promise<Loaded<S>> => {
    const held = cache.peek(aggregate, tenant, id);
    if (held?.position && comparePositions(held.position, until) === 0) return held;
    return foldFrom(aggregate, emptyAggregate(aggregate, id), upTo(until, withRefusals(historyOf(aggregate, tenant, id))));
  };

  return (asked: RequestInfo, given?: Execution): Ctx => {
    let session = given;
    let moment: string | undefined;
    // Both are made when they are asked for first: most reads never do.
    const sessionOf = (): Execution => {
      session ??= newExecution();
      return session;
    };
    const at = (): string => {
      moment ??= new Date(deps.now()).toISOString();
      return moment;
    };
    const actor = actorOf(asked.principal);
    let ifMatch = asked.ifMatch;
    let writes = 0;
    let made = 0;
    let finds = 0;
    const metaOf = (tenant: string): Metadata => ({
      tenant,
      actor,
      at: at(),
      v: 1,
      ip: asked.ip,
      userAgent: asked.userAgent,
      $correlationId: asked.requestId,
    });
    const random = (alphabet: string, length: number): string =>
      session?.repeatable ? derivedText(vault.digest(session.seed), String(made++), alphabet, length) : randomText(alphabet, length);
    const tenantOf = (aggregate: { platform?: boolean }, tenant?: string): string =>
      aggregate.platform ? PLATFORM : (tenant ?? asked.tenant);
    /** A tenant's own stream is found by its id alone. */
    const tenantFor = (aggregate: { platform?: boolean; category: string }, id: string, tenant?: string): string =>
      tenantOf(aggregate, tenant ?? (aggregate.category === 'tenant' ? id : undefined));
    const place = { tenant_id: asked.tenant };

    return {
      tenant: asked.tenant,
      principal: asked.principal,
      actor,
      at,
      reads,
      asOf: asked.asOf ?? null,
      publicUrl,
      transact: async (aggregate, id, decide, options = {}) => {
        const tenant = tenantOf(aggregate, options.tenant);
        const { seed, resumed, replay, touched } = sessionOf();
        const number = writes++;
        const kept = replay?.[number];
        if (kept) return stateAt(aggregate, id, kept).catch(throwAsRefusal);
        const matched = options.ignoreIfMatch ? null : ifMatch;
        if (!options.ignoreIfMatch) ifMatch = null;
        const loaded = await transact(aggregate, tenant, id, decide, {
          meta: metaOf(options.tenant ?? asked.tenant),
          seed: `${seed}:${number}`,
          expectNew: options.expectNew === true,
          trustCacheWhen: options.trustCacheWhen,
          ifMatch: matched,
          resumed,
        }).catch(throwAsRefusal);
        touched.push({ stream: streamName(aggregate.category, tenant, id), revision: loaded.revision });
        return loaded;
      },
      history: (aggregate, id, options) => withRefusals(historyOf(aggregate, tenantOf(aggregate), id, options)),
      load: (aggregate, id, options = {}) => {
        const tenant = tenantFor(aggregate, id, options.tenant);
        if (asked.asOf) return loadUntil(aggregate, tenant, id, asked.asOf);
        const stream = streamName(aggregate.category, tenant, id);
        const kept = session?.replay?.findLast((touched) => touched.stream === stream);
        return (
          kept ? stateAt(aggregate, id, kept) : asked.bypassCache ? cache.refresh(aggregate, tenant, id) : cache.load(aggregate, tenant, id)
        ).catch(throwAsRefusal);
      },
      logEnd: async () => {
        const [last] = await Array.fromAsync(withRefusals(log.readAll({ backwards: true, limit: 1 })));
        return last ? tokenOf(last.position) : null;
      },
      may: async (permission, agent_id) => {
        try {
          await authorize(asked.principal, permission, { ...place, agent_id });
          return true;
        } catch (error) {
          if (error instanceof Refusal && ['forbidden', 'not_found', 'tenant_suspended'].includes(error.code)) return false;
          throw error;
        }
      },
      require: async (permission, agent_id) => void (await authorize(asked.principal, permission, { ...place, agent_id })),
      newId: () => `c${random(BASE36, 24)}`,
      uniqueId: (kind, key, generation = 0, tenant = asked.tenant) => vault.uniqueId(kind, tenant, key, generation),
      random: (characters) => random(BASE62, characters),
      seal: (at, secret) => vault.seal(at, secret).catch(throwAsRefusal),
      open: (at, sealed) => vault.open(at, sealed).catch(throwAsRefusal),
      digest: vault.digest,
      sideEffect: async <T>(find: () => Promise<T>) => {
        const number = finds++;
        if (!session) return find();
        if (!(number in session.found)) session.found[number] = await find();
        return session.found[number] as T;
      },
    };
  };
};
