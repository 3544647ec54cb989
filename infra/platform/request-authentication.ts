import type { Context } from 'hono';
import type { Runtime } from '../../api/http/runtime.ts';
import { assertOwnPage, type SignInCookies } from '../../api/identity/sign-in-cookies.ts';
import type { Authenticator, SignedInPrincipal } from '../../commands/identity/authenticate.ts';
import { assertNotSuspended, type Principal } from '../../domain/principal.ts';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';

export type RequestAuthenticationDeps = {
  readonly authenticator: Authenticator;
  readonly cookies: SignInCookies;
  readonly address: (c: Context) => string | null;
  readonly limits: RateLimiter | undefined;
  readonly now: () => number;
};

export type RequestAuthentication = {
  /**
   * Reads the Authorization header or, without one, the cookie. Accepts the runner key of a suspended tenant only with `inSuspendedTenant`.
   * @throws Refusal unauthorized, forbidden, tenant_suspended, rate_limited …
   */
  readonly authenticate: Runtime['authenticate'];
  /** Does the same as `authenticate`, but without rate limits. @throws Refusal unauthorized, forbidden … */
  readonly identify: Runtime['identify'];
  /** @throws Refusal unauthorized, forbidden, rate_limited … */
  readonly byCookie: (c: Context) => Promise<SignedInPrincipal>;
  /** A failed sign-in step counts as an invalid credential of the IP address. @throws Refusal rate_limited, and the errors of `work` */
  readonly attempt: <T>(c: Context, work: () => Promise<T>) => Promise<T>;
};

const hasCode = (error: unknown, ...codes: RefusalCode[]): boolean => error instanceof Refusal && codes.includes(error.code);

/** Creates the functions that authenticate HTTP requests. They also charge the caller's rate limits. */
export const requestAuthentication = ({
  authenticator,
  cookies,
  address,
  limits,
  now,
}: RequestAuthenticationDeps): RequestAuthentication => {
  /** Checks the limits of the address before `find`, and those of the caller after it. `credential` is the header or cookie. */
  const withinLimits = async <T extends Principal>(c: Context, credential: string | undefined, find: () => Promise<T>): Promise<T> => {
    const from = address(c);
    limits?.checkAddress(from, credential, now());
    try {
      const principal = await find();
      c.set('principal', principal);
      const counted = limits?.chargeRequest(principal, credential ?? '', now(), (headers) => c.set('limits', headers));
      if (counted) await counted;
      return principal;
    } catch (error) {
      const isGuess = credential !== undefined && hasCode(error, 'unauthorized');
      throw (isGuess && (await limits?.countFailedCredential(from, now()))) || error;
    }
  };

  const byCookie = (c: Context): Promise<SignedInPrincipal> => {
    const cookie = cookies.session(c);
    if (cookie !== undefined) assertOwnPage(c, cookies);
    return withinLimits(c, cookie, () => authenticator.byCookie(cookie ?? ''));
  };

  const identify: Runtime['identify'] = async (c) => {
    const authorization = c.req.header('authorization');
    const cookie = authorization === undefined ? cookies.session(c) : undefined;
    const principal = await (cookie === undefined ? authenticator.byHeader(authorization) : authenticator.byCookie(cookie));
    assertNotSuspended(principal);
    return principal;
  };

  return {
    byCookie,
    identify,
    authenticate: async (c, { inSuspendedTenant = false } = {}) => {
      const authorization = c.req.header('authorization');
      if (authorization === undefined && cookies.session(c) !== undefined) return byCookie(c);
      const principal = await withinLimits(c, authorization, () => authenticator.byHeader(authorization));
      if (!inSuspendedTenant) assertNotSuspended(principal);
      return principal;
    },
    attempt: async (c, work) => {
      const from = address(c);
      limits?.checkAddress(from, undefined, now());
      try {
        return await work();
      } catch (error) {
        // A failed sign-in counts like an invalid credential, because each costs a request to the issuer.
        throw (hasCode(error, 'unauthorized', 'forbidden') && (await limits?.countFailedCredential(from, now()))) || error;
      }
    },
  };
};
