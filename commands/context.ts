import type { z } from 'zod';
import type { Permission } from '../domain/access/permission.ts';
import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { Actor, DomainEvent, Position, Recorded } from '../domain/event.ts';
import type { Principal } from '../domain/principal.ts';
import type { Secret } from '../domain/secret.ts';

/** An aggregate as it stands: folded state, the revision of its last event (-1: no stream yet) and that event's place in the log. */
export type Loaded<S> = {
  readonly id: string;
  readonly state: S;
  readonly revision: number;
  readonly position: Position | null;
  /** A creation that found it there and updated it instead. */
  readonly existed?: boolean;
};

/** Reads folded aggregates before a request has a context. The aggregate cache implements it. */
export type AggregateReader = {
  /** Returns the aggregate if it is in memory. */
  readonly peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  /** Returns the aggregate from memory, otherwise folds it from the log. An absent one has revision -1. */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  /** Like `load`, but without a promise if the aggregate is in memory. */
  readonly loadCached: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | Promise<Loaded<S>>;
};

export type SealedText = string;

export type TransactOptions<S> = {
  /** Another tenant than the context's: for handlers that were let into it (clone, platform operations). */
  tenant?: string;
  /** A creation: begin as if there were no stream, which is one round trip where that holds. */
  expectNew?: boolean;
  /** Not what the request is about: its condition is meant for another. */
  ignoreIfMatch?: boolean;
  /** Of a state that nothing changes any more memory is believed; of any other the log alone, where nothing is to be done. */
  trustCacheWhen?: (state: S) => boolean;
};

/** A request as a handler gets it: path, query and body in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/** What a handler works with: who asks, the log as aggregates, ids, secrets and read models. It knows no stream name. */
export type Ctx = {
  /** The tenant of the path, or `platform`. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /** RFC 3339 UTC with milliseconds; the same through one request. */
  readonly at: () => string;
  /** The position as of which this request looks; `load` folds to it. Null: now. */
  readonly asOf: Position | null;
  /** The events of an aggregate, oldest first; `from` a revision on. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /** Loads, decides, appends at the revision that was read, folds again and repeats on conflict. @throws Refusal */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /** The aggregate as the log has it now, from the warm cache where that is coherent. */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string, options?: { tenant?: string }) => Promise<Loaded<S>>;
  /** Where the log ends at this moment, as a token; null while it is empty. @throws Refusal unavailable */
  readonly logEnd: () => Promise<string | null>;
  /** Whether the caller holds a permission in this tenant, or on one of its agents, as of now. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** @throws Refusal like an operation that asks for this permission */
  readonly require: (permission: Permission, agent_id?: string) => Promise<void>;
  /** A fresh id25; the same one on a repeat under the same Idempotency-Key. */
  readonly newId: () => string;
  /** The id of what has a natural key: the same key gives the same id, unguessable from outside. */
  readonly uniqueId: (kind: string, key: string, generation?: number, tenant?: string) => string;
  /** Base62 characters for keys and secrets; the same ones on a repeat under the same Idempotency-Key. */
  readonly random: (characters: number) => string;
  /** Encrypts under the tenant's data key, bound to category, id and field. */
  readonly seal: (place: SecretLocation, secret: Secret) => Promise<SealedText>;
  readonly open: (place: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /** HMAC-SHA-256 under the platform's pepper, as hex: what is stored of an API key. */
  readonly digest: (text: string) => string;
  /**
   * What an answer says that no stream it was made from tells (views, the clock, another engine's answer), as JSON. A repeat under the same
   * Idempotency-Key has what was found first, and `find` is not asked again. Asked for in the same order each time.
   */
  readonly sideEffect: <T>(find: () => Promise<T>) => Promise<T>;
  readonly publicUrl: string;
};

export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
