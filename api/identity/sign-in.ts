import type { Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { asUser } from '../../commands/identity/authenticate.ts';
import { type Claims, type IsMember, resolveSignedInUser, SIGN_IN_SECONDS, signIn, signOut } from '../../commands/identity/sign-in.ts';
import type { Principal } from '../../domain/principal.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { askedOf, type Runtime } from '../http/mount.ts';

/** The authorization-code flow with an issuer. What `begin` seals stays with the browser until it is back. */
export type CodeFlow = {
  /** @throws Refusal not_configured, unavailable */
  readonly begin: (returnTo: string) => Promise<{ location: string; state: string; sealed: string }>;
  /** @throws Refusal unauthorized, forbidden, unavailable */
  readonly finish: (query: string, sealed: string) => Promise<{ claims: Claims; state: string; returnTo: string }>;
};

/** Cookies of one site: their names, and whether they ask for TLS. */
export type Cookies = ReturnType<typeof cookiesOf>;

const FLOW_SECONDS = 600;
const UNSAFE = /^(POST|PUT|PATCH|DELETE)$/;

/** `__Host-` where there is TLS: no other host and no plain connection can have set such a cookie. */
export const cookiesOf = (publicUrl: string) => {
  const { protocol, origin } = new URL(publicUrl);
  const secure = protocol === 'https:';
  const name = (what: string): string => `${secure ? '__Host-' : ''}annals_${what}`;
  const options = { path: '/', httpOnly: true, sameSite: 'Lax', secure } as const;
  /** One for each tab that is signing in, told apart by the start of its state. */
  const flow = (state: string): string => name(`flow_${state.slice(0, 8).replace(/[^\w-]/g, '')}`);
  return {
    origin,
    signedIn: (c: Context): string | undefined => getCookie(c, name('session')),
    keepSignedIn: (c: Context, cookie: string): void => setCookie(c, name('session'), cookie, { ...options, maxAge: SIGN_IN_SECONDS }),
    forget: (c: Context): void => void deleteCookie(c, name('session'), options),
    flow: (c: Context, state: string): string | undefined => getCookie(c, flow(state)),
    keepFlow: (c: Context, state: string, sealed: string): void => setCookie(c, flow(state), sealed, { ...options, maxAge: FLOW_SECONDS }),
    forgetFlow: (c: Context, state: string): void => void deleteCookie(c, flow(state), options),
  };
};

/**
 * What a browser's cookie may do: read, and change something from a page of our own. SameSite keeps the cookie from foreign posts; this
 * also refuses neighbours of the same site, and browsers that know no SameSite. @throws Refusal forbidden
 */
export const checkOwnPage = (c: Context, { origin }: Pick<Cookies, 'origin'>): void => {
  if (!UNSAFE.test(c.req.method)) return;
  const from = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  const own = from === undefined ? site === 'same-origin' : from === origin && (site ?? 'same-origin') === 'same-origin';
  if (!own) throw new Refusal('forbidden', `a sign-in by cookie changes things from pages of ${origin} only`);
};

/** A path of our own to go on to; anything that a browser could take for another host is refused. */
const pathOf = (origin: string, wanted: string | undefined): string => {
  if (wanted === undefined) return '/docs';
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) || wanted.length > 1_024 || new URL(wanted, origin).origin !== origin)
    throw invalid('/query/return_to', 'must be a path on this host');
  return wanted;
};

export type SignInDeps = {
  readonly flow: CodeFlow;
  readonly cookies: Cookies;
  readonly isMember: IsMember;
  /** Who a cookie stands for, asking from a page of our own. @throws Refusal unauthorized, forbidden */
  readonly byCookie: (c: Context) => Promise<Principal & { sign_in_id: string }>;
  /** Lets an address try to sign in as often as it may guess credentials. @throws Refusal rate_limited */
  readonly attempt: <T>(c: Context, work: () => Promise<T>) => Promise<T>;
};

const signInPrincipal = { kind: 'system', name: 'sign-in' } as const;

/** The routes by which a browser signs in and out, in plain Hono: they answer with redirects and cookies. */
export const mountSignIn = (app: Hono, host: Runtime, { flow, cookies, isMember, byCookie, attempt }: SignInDeps): void => {
  app.get('/auth/login', async (c) => {
    const { location, state, sealed } = await flow.begin(pathOf(cookies.origin, c.req.query('return_to')));
    cookies.keepFlow(c, state, sealed);
    return c.body(null, 302, { location });
  });

  app.get('/auth/callback', async (c) => {
    const asked = c.req.query('state') ?? '';
    const sealed = cookies.flow(c, asked);
    cookies.forgetFlow(c, asked);
    if (!asked || !sealed)
      throw new Refusal('unauthorized', 'this browser has begun no such sign-in, or too long ago: begin at /auth/login');
    const { claims, state, returnTo } = await attempt(c, () => flow.finish(new URL(c.req.url).search, sealed));
    const user = await resolveSignedInUser(host.context(askedOf(c, host, signInPrincipal)), claims, isMember);
    const { cookie } = (await signIn(host.context(askedOf(c, host, asUser(user.state))), user.id, state)).state;
    cookies.keepSignedIn(c, cookie);
    return c.body(null, 303, { location: returnTo });
  });

  app.post('/auth/logout', async (c) => {
    const principal = await byCookie(c);
    await signOut(host.context(askedOf(c, host, principal)), principal.sign_in_id);
    cookies.forget(c);
    return c.body(null, 204);
  });
};

const redirect = (description: string) => ({ description, headers: { Location: { schema: { type: 'string' } } } });
const problemToo = { default: { $ref: '#/components/responses/Problem' } };
const query = (name: string, description: string, required = false) => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: 'string' },
});

/** How the routes stand in the OpenAPI document. */
export const signInPaths = {
  '/auth/login': {
    get: {
      operationId: 'beginSignIn',
      summary: 'Send a browser to the issuer to sign in',
      tags: ['Sign-in'],
      security: [],
      parameters: [query('return_to', 'The path to go on to; /docs where there is none')],
      responses: { 302: redirect('On to the issuer'), ...problemToo },
    },
  },
  '/auth/callback': {
    get: {
      operationId: 'finishSignIn',
      summary: 'Take the browser back from the issuer',
      tags: ['Sign-in'],
      security: [],
      parameters: [query('code', "The issuer's code"), query('state', 'What the browser was sent with', true)],
      responses: { 303: redirect('Signed in by a cookie, and on to where it wanted'), ...problemToo },
    },
  },
  '/auth/logout': {
    post: {
      operationId: 'signOut',
      summary: 'Sign the browser out',
      tags: ['Sign-in'],
      security: [{ session: [] }],
      responses: { 204: { description: 'Signed out; the cookie counts no more on any process' }, ...problemToo },
    },
  },
};
