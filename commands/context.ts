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
  /** If true, the request was to create the resource, but found that it exists, and updated it instead. */
  readonly existed?: boolean;
};

/**
 * Loads aggregates without a request context, for example to authenticate a request. Implemented by the aggregate
 * cache.
 */
export type AggregateReader = {
  /** Returns the aggregate if it is in memory, otherwise undefined. */
  readonly peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  /**
   * Returns the aggregate from memory or, if it is not there, reads its events from the log. If it does not exist, its
   * revision is -1.
   */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  /** Does the same as `load`, but returns a promise only if the aggregate is not in memory. */
  readonly loadCached: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | Promise<Loaded<S>>;
};

export type SealedText = string;

export type TransactOptions<S> = {
  /** The tenant to which the aggregate belongs. By default, it is the tenant of the context. */
  tenant?: string;
  /**
   * If true, the stream is assumed not to exist, so that creating a resource takes a single request to the event store.
   * If the stream exists nevertheless, it is loaded, and the decision is made again.
   */
  expectNew?: boolean;
  /** If true, the If-Match header of the request is about another aggregate, and is not checked for this one. */
  ignoreIfMatch?: boolean;
  /**
   * Returns whether a state is final, which means that no event can follow it. If the cached state is final and the
   * decision returns no events, the log is not read to check whether the cached state is current.
   */
  trustCacheWhen?: (state: S) => boolean;
  /**
   * If true, the response to a repeat with the same Idempotency-Key is not derived from this aggregate. It is set in
   * side effects that change many aggregates.
   */
  isUntracked?: true;
};

/** The input of a handler: path parameters, query and body fields in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/**
 * The context of a handler: gives it the caller, aggregates, ids, secrets and the time. Handlers do not see the names
 * of streams.
 */
export type Ctx = {
  /** The id of the tenant in the URL path; `platform` if the path contains none. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /**
   * Returns the time of the request as RFC 3339 UTC with milliseconds. Every call during a request returns the same
   * time.
   */
  readonly at: () => string;
  /**
   * The log position of an as-of read: `load` then ignores the events after this position. If null, `load` returns the
   * present state.
   */
  readonly asOf: Position | null;
  /** Reads the events of an aggregate, the oldest first, starting at the revision `from`. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /**
   * Loads the aggregate, calls `decide` with its state, and appends the events that `decide` returns. If another
   * process has appended to the stream in the meantime, these steps are repeated.
   * @throws Refusal of `decide`, precondition_failed, unavailable
   */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /**
   * Returns the aggregate as of the log position `asOf`. If `asOf` is null, returns its present state, from memory if
   * it is there. With `isFresh`, also the events are read that another process has appended since.
   */
  readonly load: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { tenant?: string; isFresh?: true },
  ) => Promise<Loaded<S>>;
  /** Returns the event at a log position; null if there is none. @throws Refusal unavailable */
  readonly eventAt: (position: Position) => Promise<Recorded | null>;
  /** Returns the events at these log positions, in this order; null where there is none. @throws Refusal unavailable */
  readonly eventsAt: (positions: readonly Position[]) => Promise<readonly (Recorded | null)[]>;
  /** Returns the end of the log as a consistency token; null if the log is empty. @throws Refusal unavailable */
  readonly logEnd: () => Promise<string | null>;
  /** Returns whether the caller has a permission in this tenant or, if `agent_id` is given, on this agent. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** Checks that the caller has a permission. @throws Refusal as an operation that requires this permission does */
  readonly require: (permit: Permit, agent_id?: string) => Promise<void>;
  /**
   * Counts the request against a limit of the tenant. A repeat with the same Idempotency-Key is not counted.
   * @throws Refusal rate_limited if the limit is reached
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
   * Derives the id of a resource from its unique key, by an HMAC with a secret of the platform (the name key), so that
   * clients cannot guess the id.
   */
  readonly uniqueId: (kind: string, key: string, generation?: number, tenant?: string) => string;
  /**
   * Creates random base62 characters for API keys and secrets. If the request is repeated with the same
   * Idempotency-Key, the repeat gets the same characters.
   */
  readonly random: (characters: number) => string;
  /** Encrypts a secret with the data key of the tenant. The result can be decrypted only for the same location. */
  readonly seal: (location: SecretLocation, secret: Secret) => Promise<SealedText>;
  /** Decrypts a text that `seal` returned for the same location. */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /** The contents (files, packages, attachments) of this tenant. */
  readonly blobs: Blobs;
  /**
   * Returns the HMAC-SHA-256 of a text in hex. The key of the HMAC is a secret of the platform (the pepper). Such
   * digests are stored instead of the texts of API keys.
   */
  readonly digest: (text: string) => string;
  /**
   * Gets a value that the response needs and that cannot be derived from the streams of the request: for example from a
   * read model, the clock or another service. The value must be JSON. It is stored, so that a repeat with the same
   * Idempotency-Key gets the same value without calling `find`. A repeat must make these calls in the same order.
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
 * The context of a reactor: the part of `Ctx` that needs no caller. `load` always reads the newest events from the log.
 */
export type ReactorCtx = Pick<Ctx, 'tenant' | 'actor' | 'at' | 'load' | 'transact'> & {
  readonly inTenant: (tenant: string) => ReactorCtx;
  /**
   * Returns the same context with another seed. The ids of events are derived from their stream and the seed, so the
   * log recognises a second append with the same seed as a repeat.
   */
  readonly withSeed: (seed: string) => ReactorCtx;
  readonly withActor: (actor: Actor) => ReactorCtx;
};

/**
 * Where an encrypted secret is stored. The location is part of what the encryption authenticates, so a secret that is
 * copied to another location cannot be decrypted there.
 */
export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
