import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import type { Logger } from 'pino';
import { createApp } from '../../api/http/app.ts';
import type { Runtime } from '../../api/http/mount.ts';
import type { Operations } from '../../api/http/operation.ts';
import { readYourWrites } from '../../api/http/read-your-writes.ts';
import { checkOwnPage, cookiesOf, mountSignIn } from '../../api/identity/sign-in.ts';
import { permitter } from '../../commands/access/authorize.ts';
import { authenticator } from '../../commands/identity/authenticate.ts';
import { recordSeen } from '../../commands/identity/sign-in.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import * as Visit from '../../domain/audit/super-admin-read.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as AllowedAccount from '../../domain/identity/allowed-account.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { membershipPages } from '../../projections/identity/user.queries.ts';
import { users } from '../../projections/identity/user.ts';
import type { Reads } from '../../projections/read-model.ts';
import { type AggregateCache, openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { runIdempotent } from '../aggregates/idempotency.ts';
import { createContextFactory } from '../aggregates/request-context.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { verifiedKeyCache } from '../http/verified-key-cache.ts';
import { createLruMap } from '../lru-map.ts';
import { API_KEYS_ONLY, type SignInMethods } from '../oidc/sign-in.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import { refusedAccesses } from '../refusals/access-refusals.ts';
import type { Vault } from '../vault/vault.ts';

/** What the hot path reads of without appending: kept coherent by one live subscription. */
const followed = [Agent, AllowedAccount, ApiKey, Integration, Model, Plan, SignIn, Tenant, User];

/** Of whom a token tells, every request asks whether they are there: the issuer's users, not whoever guesses, decide how many these are. */
const cacheAbsent = [AllowedAccount, User];

export const openApplicationCache = (log: Log): AggregateCache => openAggregateCache(log, followed, { missed: cacheAbsent });

export type PlatformParts = {
  readonly log: Log;
  readonly cache: AggregateCache;
  readonly vault: Vault;
  readonly reads: Reads;
  readonly logger: Logger;
  readonly publicUrl: string;
  readonly operations: Operations;
  readonly plain: (app: Hono, host: Runtime) => void;
  readonly address: (c: Context) => string | null;
  readonly corsOrigins?: readonly string[] | undefined;
  readonly answered?: (c: Context, status: number, milliseconds: number) => void;
  /** Absent: nobody is limited, as in tests that ask for nothing else. */
  readonly limits?: RateLimiter;
  /** Absent: by API keys alone. */
  readonly signIn?: SignInMethods;
  readonly now?: () => number;
};

const SYSTEM = { kind: 'system', name: 'annals' } as const;

/**
 * Puts the platform together over its drivers: the HTTP application, and a context for what the platform does by itself. `close` records
 * the refusals that are left.
 */
export const createApplication = ({ now = Date.now, ...parts }: PlatformParts) => {
  const { log, cache, vault, reads, logger, publicUrl, limits, signIn = API_KEYS_ONLY } = parts;
  const cookies = cookiesOf(publicUrl);
  const permit = permitter({ ...cache, now });
  const context = createContextFactory({ log, cache, vault, reads, permit, publicUrl, now });
  const usedIn = createLruMap<string, number>({ capacity: 50_000 });

  const systemContext = (tenant = PLATFORM) =>
    context({ principal: SYSTEM, tenant, requestId: randomUUID(), ip: null, userAgent: null, ifMatch: null });

  /** One event an hour for what is in use, after the answer; losing one loses nothing but freshness. */
  const hourly = (id: string, note: () => Promise<unknown>): void => {
    const hour = Math.floor(now() / 3_600_000);
    if (usedIn.get(id) === hour) return;
    usedIn.set(id, hour);
    note().catch((error) => logger.debug({ err: error }, 'a use was not noted'));
  };
  const used = ({ id, tenant_id }: ApiKey.ApiKey): void =>
    hourly(id, () => systemContext(tenant_id ?? PLATFORM).transact(ApiKey, id, ApiKey.recordUse(new Date(now()).toISOString())));
  const seen = ({ id }: User.User): void => hourly(id, () => recordSeen(systemContext(), id));

  /** The view says where to look, each tenant whether it is so: one that is closed for good has no members any more. */
  const isSeenMember = async (user_id: string): Promise<boolean> => {
    for await (const page of membershipPages(reads, user_id))
      for (const { tenant_id } of page) {
        const { state } = await cache.load(Tenant, tenant_id, tenant_id);
        if (!Tenant.isClosed(state) && state.members[user_id]) return true;
      }
    return false;
  };
  /** Nobody who was invited a moment ago is turned away because the view is not there yet. @throws Refusal not_caught_up */
  const isMember = async (user_id: string): Promise<boolean> => {
    if (await isSeenMember(user_id)) return true;
    const end = await systemContext().logEnd();
    if (end) await reads.passed(users.name, end);
    return isSeenMember(user_id);
  };
  const identify = authenticator({
    ...cache,
    uniqueId: vault.uniqueId,
    digest: vault.digest,
    proven: verifiedKeyCache(),
    used,
    seen,
    verify: signIn.verify,
    isMember,
    context: systemContext,
    now,
  });

  /** Who `identified` finds, unless too many who were nobody asked from there. `credential` names what was shown. */
  const guarded = async <T extends Principal>(c: Context, credential: string | undefined, identified: () => Promise<T>): Promise<T> => {
    const address = parts.address(c);
    limits?.checkAddress(address, credential, now());
    try {
      const principal = await identified();
      c.set('principal', principal);
      const counted = limits?.countRequest(principal, credential ?? '', now(), (told) => c.set('limits', told));
      if (counted) await counted;
      return principal;
    } catch (error) {
      const isGuess = credential !== undefined && error instanceof Refusal && error.code === 'unauthorized';
      throw (isGuess && (await limits?.countFailedCredential(address, now()))) || error;
    }
  };

  /** What failed at the issuer, or never came from there, counts like a credential that is none: each costs a request to the issuer. */
  const attempt = async <T>(c: Context, work: () => Promise<T>): Promise<T> => {
    const address = parts.address(c);
    limits?.checkAddress(address, undefined, now());
    try {
      return await work();
    } catch (error) {
      const isGuess = error instanceof Refusal && (error.code === 'unauthorized' || error.code === 'forbidden');
      throw (isGuess && (await limits?.countFailedCredential(address, now()))) || error;
    }
  };

  const byCookie = (c: Context) => {
    const cookie = cookies.signedIn(c);
    if (cookie !== undefined) checkOwnPage(c, cookies);
    return guarded(c, cookie, () => identify.byCookie(cookie ?? ''));
  };

  /** Whoever shows a credential in the header is known by that alone; a cookie counts where there is none. */
  const authenticate = (c: Context): Promise<Principal> => {
    const authorization = c.req.header('authorization');
    if (authorization === undefined && cookies.signedIn(c) !== undefined) return byCookie(c);
    return guarded(c, authorization, () => identify.byHeader(authorization));
  };

  const noted = refusedAccesses({ log, logger, now: () => new Date(now()).toISOString(), address: parts.address });

  const host: Runtime = {
    authenticate,
    permit,
    context: (asked) => context(asked),
    once: runIdempotent({ log, context, now }),
    recordSuperAdminRead: async (asked, what) => {
      await context(asked).transact(Visit, context(asked).newId(), Visit.recordRead(what), { expectNew: true });
    },
    address: parts.address,
    broken: (c, error) => logger.error({ err: error, path: c.req.path, request_id: c.get('requestId') }, 'an answer broke off'),
    reads,
    cachedPosition: (aggregate, tenant, id) => cache.peek(aggregate, tenant, id)?.position ?? null,
    readYourWrites: readYourWrites(reads),
  };

  const failed = (error: unknown, c: Context): Refusal => {
    if (error instanceof LogError && error.kind === 'unavailable')
      return new Refusal('unavailable', 'the event store can not be reached', { retryAfter: 2 });
    logger.error({ err: error, method: c.req.method, path: c.req.path, request_id: c.get('requestId') }, 'a request failed');
    return new Refusal('internal', 'the request failed; the log has it under its request_id');
  };

  const app = createApp({
    operations: parts.operations,
    host,
    plain: (hono) => {
      mountSignIn(hono, host, { flow: signIn.flow, cookies, isMember, byCookie, attempt });
      parts.plain(hono, host);
    },
    corsOrigins: parts.corsOrigins,
    requestId: randomUUID,
    failed,
    refused: noted.refused,
    ...(parts.answered ? { answered: parts.answered } : {}),
  });
  return { app, host, systemContext, close: noted.close };
};
