import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import type { Logger } from 'pino';
import { createApp, failureResponse } from '../../api/http/app.ts';
import type { Operations } from '../../api/http/operation.ts';
import { readYourWrites } from '../../api/http/read-your-writes.ts';
import type { Runtime } from '../../api/http/runtime.ts';
import type { DirectSignInDeps } from '../../api/identity/direct-sign-in.ts';
import type { SignInDeps } from '../../api/identity/sign-in.ts';
import { createCookies } from '../../api/identity/sign-in-cookies.ts';
import { createAuthorizer } from '../../commands/access/authorize.ts';
import { createAuthenticator } from '../../commands/identity/authenticate.ts';
import { createMembershipCheck } from '../../commands/identity/membership.ts';
import * as SuperAdminRead from '../../domain/audit/super-admin-read.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { membershipPages } from '../../projections/identity/user.queries.ts';
import { users } from '../../projections/identity/user.ts';
import { createRunIdempotent } from '../aggregates/idempotency.ts';
import { createContextFactory } from '../aggregates/request-context.ts';
import { LogError } from '../eventstore/event-log.ts';
import { verifiedKeyCache } from '../http/verified-key-cache.ts';
import { API_KEYS_ONLY } from '../oidc/sign-in.ts';
import { accessRefusalWriter } from '../refusals/access-refusals.ts';
import { createCpuBudgets } from '../threads/cpu-budget.ts';
import { mountConsole } from './console.ts';
import type { PlatformServices } from './platform-services.ts';
import { requestAuthentication } from './request-authentication.ts';
import { createUsageRecorder } from './usage-recorder.ts';

type SignInServices = SignInDeps & DirectSignInDeps & { readonly runtime: Runtime };

export type ApplicationOptions = Pick<
  PlatformServices,
  | 'log'
  | 'cache'
  | 'vault'
  | 'reads'
  | 'blobs'
  | 'logger'
  | 'publicUrl'
  | 'address'
  | 'corsOrigins'
  | 'limits'
  | 'budgets'
  | 'signIn'
  | 'onResponse'
  | 'now'
> & {
  readonly operations: Operations;
  /** `services` are those that the application itself has. */
  readonly mountPlain: (app: Hono, services: SignInServices) => void;
};

const SYSTEM = { kind: 'system', name: 'annals' } as const;

/** Logs the details, which the refusal does not contain. */
const unexpectedError =
  (logger: Logger) =>
  (error: unknown, c: Context): Refusal => {
    if (error instanceof LogError && error.kind === 'unavailable')
      return new Refusal('unavailable', 'The event store cannot be reached', { retryAfter: 2 });
    logger.error({ err: error, method: c.req.method, path: c.req.path, request_id: c.get('requestId') }, 'a request failed');
    return new Refusal('internal', 'The request failed; the log has it under its request_id');
  };

type RuntimeParts = Pick<ApplicationOptions, 'log' | 'cache' | 'reads' | 'logger' | 'address'> &
  Pick<Runtime, 'authenticate' | 'identify' | 'authorize'> & {
    readonly context: ReturnType<typeof createContextFactory>;
    readonly now: () => number;
  };

const createRuntime = ({ log, cache, reads, logger, address, authenticate, identify, authorize, context, now }: RuntimeParts): Runtime => ({
  authenticate,
  identify,
  authorize,
  context: (request) => context(request),
  runIdempotent: createRunIdempotent({ log, context, now }),
  recordSuperAdminRead: async (request, read) => {
    await context(request).transact(SuperAdminRead, context(request).newId(), SuperAdminRead.recordRead(read), { expectNew: true });
  },
  address,
  onBrokenResponse: (c, error) => logger.error({ err: error, path: c.req.path, request_id: c.get('requestId') }, 'a response was aborted'),
  reads,
  cachedPosition: (aggregate, tenant, id) => cache.peek(aggregate, tenant, id)?.position ?? null,
  readYourWrites: readYourWrites(reads),
});

/** `systemContext` creates contexts with the platform as the actor. `close` records the access refusals that are still in memory. */
export const createApplication = ({ now = Date.now, ...parts }: ApplicationOptions) => {
  const {
    log,
    cache,
    vault,
    reads,
    blobs,
    logger,
    publicUrl,
    address,
    limits,
    budgets = createCpuBudgets(),
    signIn = API_KEYS_ONLY,
  } = parts;
  const cookies = createCookies(publicUrl);
  const authorize = createAuthorizer({ cache, now });
  const context = createContextFactory({ log, cache, vault, reads, blobs, authorize, publicUrl, limits, budgets, now });

  const contextOf = (principal: Principal, tenant = PLATFORM) =>
    context({ principal, tenant, requestId: randomUUID(), ip: null, userAgent: null, ifMatch: null });
  const systemContext = (tenant?: string) => contextOf(SYSTEM, tenant);

  const usage = createUsageRecorder({ contextOf, systemContext, logger, now });

  const isMember = createMembershipCheck({
    cache,
    membershipPages: (user_id) => membershipPages(reads, user_id),
    catchUp: async () => {
      const end = await systemContext().log.logEnd();
      if (end) await reads.passed(users.name, end);
    },
  });
  const authenticator = createAuthenticator({
    cache,
    uniqueId: vault.uniqueId,
    digest: vault.digest,
    verifiedKeys: verifiedKeyCache(),
    onKeyUsed: usage.keyUsed,
    onUserSeen: usage.userSeen,
    onSignInSeen: usage.signInSeen,
    verifyToken: signIn.verify,
    isMember,
    systemContext,
    now,
  });

  const { authenticate, identify, byCookie, attempt } = requestAuthentication({ authenticator, cookies, address, limits, now });
  const refusals = accessRefusalWriter({ log, logger, now: () => new Date(now()).toISOString(), address });

  const runtime = createRuntime({ log, cache, reads, logger, address, authenticate, identify, authorize, context, now });
  const toRefusal = unexpectedError(logger);
  const answerFailure = (error: unknown, c: Context): Response => failureResponse(error, c, toRefusal);
  const app = createApp({
    operations: parts.operations,
    runtime,
    mountPlain: (hono) => {
      parts.mountPlain(hono, { runtime, flow: signIn.flow, cookies, isMember, byCookie, attempt, byKey: authenticator.byKey });
      mountConsole(hono, { operations: parts.operations, cookies, hasIssuer: signIn.isForBrowsers, answerFailure });
    },
    corsOrigins: parts.corsOrigins,
    requestId: randomUUID,
    toRefusal,
    onAccessRefused: refusals.record,
    ...(parts.onResponse ? { onResponse: parts.onResponse } : {}),
  });
  return { app, runtime, systemContext, close: refusals.close };
};
