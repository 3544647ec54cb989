import type { z } from 'zod';
import type { Permission, Permit } from '../domain/access/permission.ts';
import type { LimitedFlow } from '../domain/access/rate-limit-policy.ts';
import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { Actor, DomainEvent, Position, Recorded } from '../domain/event.ts';
import type { Principal } from '../domain/principal.ts';
import type { ParseCron } from '../domain/schedule/recurrence.ts';
import type { Secret } from '../domain/secret.ts';
import type { Blobs } from './blobs.ts';
import type { JsonSchemaValidator } from './json-schema-validator.ts';
import type { PatternCompiler } from './pattern-compiler.ts';

/**
 * A loaded aggregate: its state, and the revision and the position of its last event. If it has no events, the revision
 * is -1 and the position is null.
 */
export type Loaded<S> = {
  readonly id: string;
  readonly state: S;
  readonly revision: number;
  readonly position: Position | null;
  /** True if a request to create the resource found an existing one and updated it instead. */
  readonly existed?: boolean;
};

/**
 * Reads aggregates where no request context exists, for example to authenticate a request. The aggregate cache
 * implements this.
 */
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
  /** The tenant to which the aggregate belongs. By default, it is the tenant of the context. */
  tenant?: string;
  /**
   * If true, the stream is assumed not to exist, so that a creation takes only one round trip to the event store. If
   * the stream exists nevertheless, it is loaded and the decision is made again.
   */
  expectNew?: boolean;
  /**
   * Set if the If-Match header of the request is about another aggregate. The header is then not checked for this one.
   */
  ignoreIfMatch?: boolean;
  /**
   * Whether the cached state is final, that is, no event can follow it. If it is final, and the decision returns no
   * events, the log is not asked whether the cached state is current.
   */
  trustCacheWhen?: (state: S) => boolean;
  /**
   * Set in a side effect that changes any number of aggregates. A repeat with the same Idempotency-Key then does not
   * derive its response from this aggregate.
   */
  isUntracked?: true;
};

/** The input of a handler: path parameters, query and body fields in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/**
 * The context of a handler: access to the caller, aggregates, ids, secrets and time. The handler never sees stream
 * names.
 */
export type Ctx = {
  /** The id of the tenant in the URL path; `platform` if the path contains none. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /** Returns the time of the request as RFC 3339 UTC with milliseconds. It stays the same during the request. */
  readonly at: () => string;
  /**
   * The log position of an as-of read: `load` ignores the events after it. If it is null, `load` returns the present
   * state.
   */
  readonly asOf: Position | null;
  /** Reads the events of an aggregate, the oldest first, starting at the revision `from`. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /**
   * Loads the aggregate, calls `decide` with its state, and appends the returned events. If another writer has appended
   * to the stream in the meantime, this starts again.
   * @throws Refusal of `decide`, precondition_failed, unavailable
   */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /**
   * Returns the aggregate at the log position `asOf`. If `asOf` is null, returns its present state, from memory if
   * possible.
   */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string, options?: { tenant?: string }) => Promise<Loaded<S>>;
  /** Returns the event at a log position; null if there is none. @throws Refusal unavailable */
  readonly eventAt: (position: Position) => Promise<Recorded | null>;
  /** Returns the end of the log as a consistency token; null if the log is empty. @throws Refusal unavailable */
  readonly logEnd: () => Promise<string | null>;
  /** Whether the caller has a permission in this tenant or, with `agent_id`, on that agent. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** Checks that the caller has a permission. @throws Refusal the same as an operation that requires this permission */
  readonly require: (permit: Permit, agent_id?: string) => Promise<void>;
  /**
   * Counts a request against a limit of the tenant. A repeat with the same Idempotency-Key does not count.
   * @throws Refusal rate_limited
   */
  readonly limitFlow: (flow: LimitedFlow) => Promise<void>;
  /**
   * Returns the context of the same request in another tenant: it reads and writes the aggregates of that tenant, and
   * checks the caller's permissions there.
   */
  readonly inTenant: (tenant: string) => Ctx;
  /** Creates a resource id. If the request is repeated with the same Idempotency-Key, the repeat gets the same id. */
  readonly newId: () => string;
  /**
   * Derives the id of a resource from its unique key, by an HMAC with a secret of the platform (the name key). So
   * clients cannot guess the id.
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
  /** The contents (files, packages, attachments) of this tenant. */
  readonly blobs: Blobs;
  /**
   * Returns the HMAC-SHA-256 of a text in hex; the HMAC key is a secret of the platform (the pepper). Such digests of
   * API keys are stored in place of their texts.
   */
  readonly digest: (text: string) => string;
  /**
   * Gets a value that the response needs but that cannot be derived from the request's streams, for example from a read
   * model, the clock or another service. The value must be JSON. If the request is repeated with the same
   * Idempotency-Key, the repeat gets the first value, and `find` is not called. A repeat must make the same calls in
   * the same order.
   */
  readonly sideEffect: <T>(find: () => Promise<T>) => Promise<T>;
  /** Checks values against JSON Schemas that clients have written. */
  readonly jsonSchemas: JsonSchemaValidator;
  /** Checks and applies patterns that clients have written. */
  readonly patterns: PatternCompiler;
  readonly parseCron: ParseCron;
  readonly publicUrl: string;
};

/**
 * Where an encrypted secret is stored. The encryption authenticates the location, too. So a secret that is copied to
 * another location cannot be decrypted there.
 */
export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
