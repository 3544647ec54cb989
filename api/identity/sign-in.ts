import type { Context } from 'hono';
import { z } from 'zod';
import type { SignedInPrincipal } from '../../commands/identity/authenticate.ts';
import type { IsMember } from '../../commands/identity/membership.ts';
import { type Claims, resolveSignedInUser, signIn, signOut } from '../../commands/identity/sign-in.ts';
import { principalOf } from '../../domain/identity/user.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import type { SignInCookies } from './sign-in-cookies.ts';

/**
 * The OAuth authorization-code flow with an external issuer of identities. Between `begin` and `finish`, a cookie of
 * the browser contains the encrypted state of the flow.
 */
export type CodeFlow = {
  /**
   * Starts a flow. `location` is the URL of the issuer to which the browser is sent, and `sealed` the encrypted state
   * for the cookie. If the user's last sign-in at the issuer was more than `maxAge` seconds ago, the issuer asks for
   * the password again; if `maxAge` is null, any earlier sign-in is accepted.
   * @throws Refusal not_configured, unavailable
   */
  readonly begin: (returnTo: string, maxAge: number | null) => Promise<{ location: string; state: string; sealed: string }>;
  /**
   * Finishes a flow. `query` is the query string of the callback. `sealed` is the content of the cookie.
   * @throws Refusal unauthorized, forbidden, unavailable
   */
  readonly finish: (query: string, sealed: string) => Promise<{ claims: Claims; state: string; returnTo: string }>;
};

/**
 * Returns the path to which the browser is sent after the sign-in.
 * @throws Refusal invalid if the text is not a path, or if a browser could read it as a URL of another host
 */
export const returnPathOf = (origin: string, returnTo: string | undefined, pointer = '/query/return_to'): string => {
  if (returnTo === undefined) return '/console';
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(returnTo) || returnTo.length > 1_024 || new URL(returnTo, origin).origin !== origin)
    throw invalid(pointer, 'must be a path on this host');
  return returnTo;
};

/**
 * Parses the query parameter `max_age`; null if it is absent. @throws Refusal invalid unless it is a whole number of
 * seconds
 */
const maxAgeOf = (text: string | undefined): number | null => {
  if (text === undefined) return null;
  if (!/^\d{1,8}$/.test(text)) throw invalid('/query/max_age', 'must be a number of seconds from 0 to 99999999');
  return Number(text);
};

export type SignInDeps = {
  readonly flow: CodeFlow;
  readonly cookies: SignInCookies;
  readonly isMember: IsMember;
  /**
   * Authenticates a caller by the session cookie. A request that changes something is refused if it comes from another
   * site.
   * @throws Refusal unauthorized, forbidden
   */
  readonly byCookie: (c: Context) => Promise<SignedInPrincipal>;
  /**
   * Runs a sign-in attempt. If the attempt fails, it counts against the rate limit of the client's IP address, as a
   * request with invalid credentials does.
   * @throws Refusal rate_limited
   */
  readonly attempt: <T>(c: Context, work: () => Promise<T>) => Promise<T>;
};

export const signInPrincipal = { kind: 'system', name: 'sign-in' } as const;

type Deps = SignInDeps & { readonly runtime: Runtime };

const beginSignIn =
  ({ flow, cookies }: Deps) =>
  async (c: Context): Promise<Response> => {
    const returnTo = returnPathOf(cookies.origin, c.req.query('return_to'));
    const { location, state, sealed } = await flow.begin(returnTo, maxAgeOf(c.req.query('max_age')));
    cookies.setFlow(c, state, sealed);
    return c.body(null, 302, { location });
  };

const finishSignIn =
  ({ runtime, flow, cookies, isMember, attempt }: Deps) =>
  async (c: Context): Promise<Response> => {
    const sentState = c.req.query('state') ?? '';
    const sealed = cookies.flow(c, sentState);
    cookies.clearFlow(c, sentState);
    if (!sentState || !sealed)
      throw new Refusal('unauthorized', 'This browser has no such sign-in in progress, or it has expired: start again at /auth/login');
    const { claims, state, returnTo } = await attempt(c, () => flow.finish(new URL(c.req.url).search, sealed));
    const user = await resolveSignedInUser(runtime.context(requestInfoOf(c, runtime, signInPrincipal)), claims, isMember);
    const { cookie } = (await signIn(runtime.context(requestInfoOf(c, runtime, principalOf(user.state))), user.id, { by: 'oidc', state }))
      .state;
    cookies.setSession(c, cookie);
    return c.body(null, 303, { location: returnTo });
  };

const endSignIn =
  ({ runtime, cookies, byCookie }: Deps) =>
  async (c: Context): Promise<Response> => {
    const principal = await byCookie(c);
    await signOut(runtime.context(requestInfoOf(c, runtime, principal)), principal.sign_in_id);
    cookies.clearSession(c);
    return c.body(null, 204);
  };

const redirect = (description: string) => ({ description, headers: { Location: { schema: { type: 'string' } } } });
const parameter = (description: string) => z.string().meta({ description });

/** The routes with which a browser signs in and out. Their responses are redirects and set cookies. */
export const signInRoutes = plainRoutes([
  plainRoute({
    method: 'get',
    path: '/auth/login',
    operationId: 'beginSignIn',
    summary: 'Redirect a browser to the issuer to sign in',
    tag: 'Sign-in',
    security: [],
    query: z.object({
      return_to: parameter('The path to open after the sign-in; default: /console').optional(),
      max_age: z
        .int()
        .min(0)
        .max(99_999_999)
        .meta({ description: 'The issuer asks for the password again if its last sign-in is older, in seconds; 0: in any case' })
        .optional(),
    }),
    responses: { 302: redirect('Redirect to the issuer') },
    problems: [409, 422, 503],
    handler: beginSignIn,
  }),
  plainRoute({
    method: 'get',
    path: '/auth/callback',
    operationId: 'finishSignIn',
    summary: 'Finish a sign-in',
    description: 'The issuer redirects the browser to this path.',
    tag: 'Sign-in',
    security: [],
    query: z.object({
      code: parameter("The issuer's authorization code").optional(),
      state: parameter('The state that the redirect to the issuer contained'),
    }),
    responses: { 303: redirect('Signed in: the response sets the session cookie and redirects to `return_to`') },
    problems: [401, 403, 409, 429, 503],
    handler: finishSignIn,
  }),
  plainRoute({
    method: 'post',
    path: '/auth/logout',
    operationId: 'signOut',
    reply: z.null(),
    summary: 'Sign the browser out',
    tag: 'Sign-in',
    security: [{ session: [] }],
    responses: { 204: { description: 'Signed out: no process accepts the cookie any longer' } },
    problems: [401, 403, 503],
    handler: endSignIn,
  }),
]);
