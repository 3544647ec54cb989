import type { z } from 'zod';
import type { Permission } from '../domain/access/permission.ts';
import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { Actor, DomainEvent, Position, Recorded } from '../domain/event.ts';
import type { Principal } from '../domain/principal.ts';
import type { Secret } from '../domain/secret.ts';

/**
 * An aggregate after loading: its state, and the revision and the position of its last event. If it has no events yet,
 * they are -1 and null.
 */
export type Loaded<S> = {
  readonly id: string;
  readonly state: S;
  readonly revision: number;
  readonly position: Position | null;
  /** True if a request to create the resource found an existing one and updated it instead. */
  readonly existed?: boolean;
};

/** Reads the states of aggregates where there is no request context yet. The aggregate cache implements it. */
export type AggregateReader = {
  /** Returns the aggregate if it is in memory, otherwise undefined. */
  readonly peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  /** Returns the aggregate from memory, or reads its events from the log. If it does not exist, the revision is -1. */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  /** Like `load`, but returns a promise only if the aggregate is not in memory. */
  readonly loadCached: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | Promise<Loaded<S>>;
};

export type SealedText = string;

export type TransactOptions<S> = {
  /** The tenant of the aggregate, if it is not the context's. Platform operations and cloning need this. */
  tenant?: string;
  /**
   * Assumes that the stream does not exist yet, so that a creation takes only one round trip. If it does exist, it is
   * loaded.
   */
  expectNew?: boolean;
  /** Set if the request's If-Match header is about another aggregate: it is then not checked for this one. */
  ignoreIfMatch?: boolean;
  /**
   * If this returns true, the cached state is final. If the decision returns no events, the log need not confirm that
   * the state is current.
   */
  trustCacheWhen?: (state: S) => boolean;
};

/** The input of a handler: path parameters, query and body fields in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/**
 * The context of a handler: access to the caller, aggregates, ids, secrets and time. The handler never sees stream
 * names.
 */
export type Ctx = {
  /** The id of the tenant in the path, or `platform`. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /** Returns the time of the request as RFC 3339 UTC with milliseconds. It stays the same during the request. */
  readonly at: () => string;
  /** The log position of an as-of read: `load` ignores later events. Null: `load` returns the present state. */
  readonly asOf: Position | null;
  /** Reads the events of an aggregate, the oldest first, starting at the revision `from`. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /**
   * Loads the aggregate, calls `decide` with its state, and appends the events that it returns. If another writer has
   * appended in the meantime, starts again.
   * @throws Refusal
   */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /**
   * Returns the aggregate at the position `asOf` or, if that is null, its present state, from the cache if possible.
   */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string, options?: { tenant?: string }) => Promise<Loaded<S>>;
  /** Returns the end of the log as a consistency token; null if the log is empty. @throws Refusal unavailable */
  readonly logEnd: () => Promise<string | null>;
  /** Whether the caller has a permission in this tenant or, with `agent_id`, on that agent. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** Checks that the caller has the permission. @throws Refusal if not: the same as an operation that requires it */
  readonly require: (permission: Permission, agent_id?: string) => Promise<void>;
  /** Creates a resource id. If the request is repeated with the same Idempotency-Key, the repeat gets the same id. */
  readonly newId: () => string;
  /**
   * Derives the id of a resource from its unique key. Without the secret name key of the platform, the id cannot be
   * guessed.
   */
  readonly uniqueId: (kind: string, key: string, generation?: number, tenant?: string) => string;
  /**
   * Creates random base62 characters, for API keys and secrets. If the request is repeated with the same
   * Idempotency-Key, the repeat gets the same characters.
   */
  readonly random: (characters: number) => string;
  /** Encrypts a secret with the data key of the tenant. It can be decrypted only for the same location. */
  readonly seal: (location: SecretLocation, secret: Secret) => Promise<SealedText>;
  /** Decrypts a text that `seal` returned for the same location. */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /**
   * Returns an HMAC-SHA-256 in hex; its key is a secret of the platform (the pepper). The digest of an API key is
   * stored in place of its text.
   */
  readonly digest: (text: string) => string;
  /**
   * Gets a value for the response that cannot be derived from the request's streams: for example from a read model, the
   * clock or another service. The value must be JSON. If the request is repeated with the same Idempotency-Key, the
   * repeat gets the first value, and `find` is not called. A repeat must make the same calls in the same order.
   */
  readonly sideEffect: <T>(find: () => Promise<T>) => Promise<T>;
  readonly publicUrl: string;
};

/**
 * Where an encrypted secret is stored. The location is authenticated with it, so a secret that is moved elsewhere
 * cannot be decrypted.
 */
export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
