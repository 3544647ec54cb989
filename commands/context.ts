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

/** Revision and position of the last event; without events, -1 and null. */
export type Loaded<S> = {
  readonly id: string;
  readonly state: S;
  readonly revision: number;
  readonly position: Position | null;
  /** The request was to create the resource, but it exists, and was updated instead. */
  readonly existed?: boolean;
};

/** Loads without a request context, for example to authenticate a request. Implemented by the aggregate cache. */
export type AggregateReader = {
  /** Undefined if it is not in memory. */
  readonly peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  /** Loads an aggregate from memory or the log. The revision is -1 if it does not exist. */
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  /** As `load`, but a promise only if the aggregate is not in memory. */
  readonly loadCached: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | Promise<Loaded<S>>;
};

export type SealedText = string;

export type TransactOptions<S> = {
  /** By default, the tenant of the context. */
  tenant?: string;
  /** Assumes a new stream, so that creating a resource takes one request to the event store. If it exists, loads it and decides again. */
  expectNew?: boolean;
  /** Set it if the revision that the client expects is that of another aggregate. */
  ignoreExpectedRevision?: boolean;
  /** No event can follow a final state. If the cached state is final and the decision returns no events, the log is not read to check the state. */
  trustCacheWhen?: (state: S) => boolean;
  /**
   * The response to a repeat of the request (with the same idempotency key) is not derived from this aggregate; for side effects that change
   * many aggregates.
   */
  isUntracked?: true;
};

/** Path parameters, query and body fields in one object. */
export type Input<Body extends z.ZodType, Path extends string = never> = z.output<Body> & { readonly [Name in Path]: string };

/** Secrets, and texts and ids that are derived from secrets of the platform. */
export type Secrets = {
  /** Encrypts with the data key of the tenant. The result can be decrypted only for the same location. */
  readonly seal: (location: SecretLocation, secret: Secret) => Promise<SealedText>;
  /** Decrypts a text for the location with which `seal` was called. */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /** HMAC-SHA-256 in hex, with a secret of the platform (the pepper). Stored instead of the texts of API keys. */
  readonly digest: (text: string) => string;
  /** Returns random Base62 characters. A repeat of the request gets the same ones. */
  readonly random: (characters: number) => string;
  /** Derived from the unique key, by an HMAC with a secret of the platform (the name key), so that clients cannot guess it. */
  readonly uniqueId: (kind: string, key: string, generation?: number, tenant?: string) => string;
};

/** The events that the log stores. */
type LoggedEvents = {
  /** Oldest first, from the revision `from` on. */
  readonly history: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { from?: number; limit?: number },
  ) => AsyncIterable<Recorded<E>>;
  /** @throws Refusal unavailable */
  readonly eventAt: (position: Position) => Promise<Recorded | null>;
  /** Returns the events in the order of the positions; null where there is no event. @throws Refusal unavailable */
  readonly eventsAt: (positions: readonly Position[]) => Promise<readonly (Recorded | null)[]>;
  /** A consistency token; null if the log is empty. @throws Refusal unavailable */
  readonly logEnd: () => Promise<string | null>;
};

/** Checks of what clients have written. The tenant is charged for their processor time. */
export type Checks = {
  readonly jsonSchemas: JsonSchemaValidator;
  readonly patterns: PatternCompiler;
  readonly parseCron: ParseCron;
};

/**
 * Gives a handler the caller, aggregates, ids, secrets and the time. Handlers do not see the names of streams. A repeat of a request is one
 * with the same idempotency key.
 */
export type Ctx = {
  /** `platform` if the request is about no tenant. */
  readonly tenant: string;
  readonly principal: Principal;
  readonly actor: Actor;
  /** The time of the request, RFC 3339 UTC with milliseconds; the same in every call. */
  readonly at: () => string;
  /** For an as-of read: `load` ignores later events. Null: the present state. */
  readonly asOf: Position | null;
  /**
   * Appends what `decide` returns for the state; loads and decides again if another process has appended in the meantime.
   * @throws Refusal of `decide`, precondition_failed, unavailable
   */
  readonly transact: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    decide: Decision<S, E>,
    options?: TransactOptions<S>,
  ) => Promise<Loaded<S>>;
  /**
   * The state at the log position `asOf`; null: the present one, from memory if possible. With `isFresh`, includes events that another
   * process has appended since.
   */
  readonly load: <S, E extends DomainEvent>(
    aggregate: Aggregate<S, E>,
    id: string,
    options?: { tenant?: string; isFresh?: true },
  ) => Promise<Loaded<S>>;
  /** Whether the caller has the permission in this tenant or, with `agent_id`, on this agent. */
  readonly may: (permission: Permission, agent_id?: string) => Promise<boolean>;
  /** @throws Refusal as an operation that requires this permission does */
  readonly require: (permit: Permit, agent_id?: string) => Promise<void>;
  /** Counts the request. A repeat of it is not counted. @throws Refusal rate_limited */
  readonly limitFlow: (flow: LimitedFlow) => Promise<void>;
  /** The same request in another tenant: its aggregates, and the caller's permissions there. */
  readonly inTenant: (tenant: string) => Ctx;
  /** A repeat of the request gets the same id. */
  readonly newId: () => string;
  /**
   * Finds a value that the response needs and that is not in the request's streams, such as from a read model, the clock or another
   * service. It must be JSON. It is stored: a repeat of the request gets it without a call of `find`, and must make these calls in the same
   * order.
   */
  readonly sideEffect: <T>(find: () => Promise<T>) => Promise<T>;
  readonly blobs: Blobs;
  readonly secrets: Secrets;
  readonly log: LoggedEvents;
  readonly checks: Checks;
  readonly publicUrl: string;
};

/** For a function that needs only some members of `Secrets`. */
export type UsesSecrets<Name extends keyof Secrets> = { readonly secrets: Pick<Secrets, Name> };

/** What a reactor needs, without a caller. `load` always reads the newest events from the log. */
export type ReactorCtx = Pick<Ctx, 'tenant' | 'actor' | 'at' | 'load' | 'transact'> & {
  readonly inTenant: (tenant: string) => ReactorCtx;
  /** Event ids are derived from stream and seed, so the log recognises a second append with the same seed as a repeat. */
  readonly withSeed: (seed: string) => ReactorCtx;
  readonly withActor: (actor: Actor) => ReactorCtx;
};

/** The encryption authenticates the location: a secret that is copied to another location cannot be decrypted there. */
export type SecretLocation = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };
