import type { Context } from 'hono';
import type { Authorize } from '../../commands/access/authorize.ts';
import type { Loaded } from '../../commands/context.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { Ctx } from './operation.ts';
import type { ReadYourWrites } from './read-your-writes.ts';

/** What is known about a request, apart from its path, query and body. */
export type RequestInfo = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly requestId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /**
   * The revisions in the If-Match header. '*' matches every existing resource. Null means that there is no If-Match
   * header.
   */
  readonly ifMatch: readonly number[] | '*' | null;
  /** The log position of an as-of read. Null or absent for a read of the present state. */
  readonly asOf?: Position | null;
  /**
   * If true, aggregates are loaded from the log instead of the aggregate cache. This is needed if the client sends a
   * Consistency-Token, whose position can be later than that of the cache.
   */
  readonly bypassCache?: boolean;
};

/** A mutation with an Idempotency-Key. Requests with the same key, route and caller count as the same request. */
export type IdempotentRequest = {
  readonly key: string;
  readonly route: string;
  readonly body: Uint8Array;
  readonly oneTimeSecret: boolean;
  /** Called if the request was already processed, so that the response is a repeat. */
  readonly onReplay?: () => void;
};

/** The functions that routes need from the outer layers, which are in infra/. */
export type Runtime = {
  /**
   * Identifies the caller and applies the rate limits.
   * @throws Refusal unauthorized, key_expired, key_owner_inactive, rate_limited
   */
  readonly authenticate: (c: Context, options?: { readonly inSuspendedTenant?: true }) => Promise<Principal>;
  /**
   * Identifies the caller again while the response is still being sent. This does not count against a rate limit.
   * @throws Refusal unauthorized, key_expired, key_owner_inactive
   */
  readonly identify: (c: Context) => Promise<Principal>;
  /**
   * Checks that the caller may use the route.
   * @returns 'guest' if the caller is a super-admin who reads in a tenant without being a member; otherwise undefined
   * @throws Refusal forbidden, not_found, tenant_suspended, recent_sign_in_required
   */
  readonly authorize: Authorize;
  readonly context: (info: RequestInfo) => Ctx;
  /** Runs a mutation at most once for each Idempotency-Key. `locate` returns the path of the resulting resource. */
  readonly runIdempotent: <T extends Loaded<unknown>>(
    info: RequestInfo,
    request: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
    locate: (loaded: T) => string | null,
  ) => Promise<T>;
  /** Records that a super-admin has read data of the tenant. The read appears in the tenant's audit log. */
  readonly recordSuperAdminRead: (info: RequestInfo, what: string) => Promise<void>;
  /** Returns the client's IP address; null if it is unknown. */
  readonly address: (c: Context) => string | null;
  /** Called if sending a response fails after its first byte. */
  readonly onBrokenResponse: (c: Context, error: unknown) => void;
  readonly reads: Reads;
  /** Returns the position of an aggregate's last event; null if the aggregate is not in the aggregate cache. */
  readonly cachedPosition: (aggregate: AnyAggregate, tenant: string, id: string) => Position | null;
  readonly readYourWrites: ReadYourWrites;
};
