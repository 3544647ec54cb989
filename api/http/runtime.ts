import type { Context } from 'hono';
import type { Authorize } from '../../commands/access/authorize.ts';
import type { Loaded } from '../../commands/context.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { Ctx } from './operation.ts';
import type { ReadYourWrites } from './read-your-writes.ts';

/** What a request says beside its path, query and body. */
export type RequestInfo = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly requestId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** The revisions in If-Match; '*' matches any existing resource. */
  readonly ifMatch: readonly number[] | '*' | null;
  /** The position as of which a read answers; null: now. */
  readonly asOf?: Position | null;
  /** Fold from the log: the client's Consistency-Token may be newer than the aggregate cache of this process. */
  readonly bypassCache?: boolean;
};

/** A mutation with an Idempotency-Key. The same key, route and caller identify the same request. */
export type IdempotentRequest = {
  readonly key: string;
  readonly route: string;
  readonly body: Uint8Array;
  readonly oneTimeSecret: boolean;
};

/** What the routes need from the drivers; infra/ builds it. */
export type Runtime = {
  /**
   * Identifies the caller and applies the rate limits.
   * @throws Refusal unauthorized, key_expired, key_owner_inactive, rate_limited
   */
  readonly authenticate: (c: Context) => Promise<Principal>;
  /**
   * Returns 'guest' for a super-admin who looks into a tenant.
   * @throws Refusal forbidden, not_found, tenant_suspended
   */
  readonly authorize: Authorize;
  readonly context: (info: RequestInfo) => Ctx;
  /** Runs a mutation once per key; `locate` returns the path of its result. */
  readonly runIdempotent: <T extends Loaded<unknown>>(
    info: RequestInfo,
    request: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
    locate: (loaded: T) => string | null,
  ) => Promise<T>;
  /** Records in the tenant's audit log that a super-admin read something there. */
  readonly recordSuperAdminRead: (info: RequestInfo, what: string) => Promise<void>;
  /** The client's IP address. */
  readonly address: (c: Context) => string | null;
  /** Called when a response fails after its first byte was sent. */
  readonly onBrokenResponse: (c: Context, error: unknown) => void;
  readonly reads: Reads;
  /** The position of an aggregate's last event, if the aggregate cache holds the aggregate. */
  readonly cachedPosition: (aggregate: AnyAggregate, tenant: string, id: string) => Position | null;
  readonly readYourWrites: ReadYourWrites;
};
