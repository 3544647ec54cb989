import type { z } from 'zod';
import type { Permission } from '../domain/access/permission.ts';
import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { Actor, DomainEvent, Position, Recorded } from '../domain/event.ts';
import type { Principal } from '../domain/principal.ts';
import type { Secret } from '../domain/secret.ts';

/**
 * A loaded aggregate: its folded state, and the revision and position of its last event (-1 and null: it has no events
 * yet).
 */
export type Loaded<S> = {
  readonly id: string;
  readonly state: S;
  readonly revision: number;
  readonly position: Position | null;
  /** Set by a creation that found an existing resource and updated it instead. */
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
  /** The tenant of the aggregate, if it is not the context's: for platform operations, and for clone. */
  tenant?: string;
  /** Assumes that there is no stream yet, so that a creation takes one round trip. If there is one, it is loaded. */
  expectNew?: boolean;
  /** This aggregate is not the one that the request's If-Match is about. */
  ignoreIfMatch?: boolean;
  /** If this returns true, the cached state is final: a decision without events needs no confirmation by the log. */
  trustCacheWhen?: (state: S) => boolean;
};

/** A request as a handler receives it: path, query and body in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/** What a handler works with: the caller, aggregates, ids, secrets and read models. Stream names are hidden from it. */
export type Ctx = {
  /** The tenant of the path, or `platform`. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /** The time of the request as RFC 3339 UTC with milliseconds; it does not change during the request. */
  readonly at: () => string;
  /** The position of an as-of read, at which `load` stops folding; null: the present. */
  readonly asOf: Position | null;
  /** Reads the events of an aggregate, oldest first, starting at the revision `from`. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /**
   * Loads the aggregate, decides, and appends the events at the loaded revision; starts again on conflict.
   * @throws Refusal
   */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /** Returns the aggregate at `asOf`, or its present state, from the cache if possible. */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string, options?: { tenant?: string }) => Promise<Loaded<S>>;
  /**
   * Returns the present end of the log as a consistency token; null while the log is empty.
   * @throws Refusal unavailable
   */
  readonly logEnd: () => Promise<string | null>;
  /** Whether the caller has a permission in this tenant, or on one of its agents. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** @throws Refusal if the caller lacks the permission, as an operation that requires it would */
  readonly require: (permission: Permission, agent_id?: string) => Promise<void>;
  /** Creates an id25. A repeated request with the same Idempotency-Key gets the same one. */
  readonly newId: () => string;
  /** Derives the id of a resource from its unique key. It cannot be guessed without the platform's name key. */
  readonly uniqueId: (kind: string, key: string, generation?: number, tenant?: string) => string;
  /**
   * Creates base62 characters for keys and secrets. A repeated request with the same Idempotency-Key gets the same
   * ones.
   */
  readonly random: (characters: number) => string;
  /** Encrypts with the tenant's data key, bound to the location. */
  readonly seal: (location: SecretLocation, secret: Secret) => Promise<SealedText>;
  /** Decrypts what `seal` returned for the same location. */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /** HMAC-SHA-256 with the platform's pepper, in hex. It is stored in place of an API key. */
  readonly digest: (text: string) => string;
  /**
   * Reads a value for the response that does not follow from the request's streams, such as from a read model, the
   * clock or another service. The value must be JSON. A repeated request with the same Idempotency-Key gets the first
   * value without calling `find`; the calls must come in the same order each time.
   */
  readonly sideEffect: <T>(find: () => Promise<T>) => Promise<T>;
  readonly publicUrl: string;
};

/** Where a sealed secret is stored. It is part of the encryption's associated data. */
export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
