import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { SIGN_IN_TTL_SECONDS } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import { FLOW } from '../http/attempt-cookies.ts';

/** The functions that set, read and remove the sign-in cookies of PUBLIC_URL. */
export type SignInCookies = ReturnType<typeof createCookies>;

const FLOW_TTL_SECONDS = 600;
const UNSAFE_METHOD = /^(POST|PUT|PATCH|DELETE)$/;

/**
 * Creates the functions for the sign-in cookies. With HTTPS, the names of the cookies have the prefix `__Host-`: then
 * neither another host nor an unencrypted connection can set these cookies.
 */
export const createCookies = (publicUrl: string) => {
  const { protocol, origin, port } = new URL(publicUrl);
  const secure = protocol === 'https:';
  const prefix = secure ? '__Host-' : '';
  /**
   * The name of the session cookie. Browsers send a cookie to all ports of a host, so two instances on one machine need
   * different names.
   */
  const sessionName = `${prefix}annals_session${secure || port === '' ? '' : `_${port}`}`;
  const options = { path: '/', httpOnly: true, sameSite: 'Lax', secure } as const;
  /**
   * Returns the name of the cookie of one sign-in attempt. It contains the start of the `state` parameter, because
   * several tabs can sign in at the same time.
   */
  const flowName = (state: string): string => `${prefix}${FLOW}${state.slice(0, 8).replace(/[^\w-]/g, '')}`;
  return {
    origin,
    session: (c: Context): string | undefined => getCookie(c, sessionName),
    setSession: (c: Context, cookie: string): void => setCookie(c, sessionName, cookie, { ...options, maxAge: SIGN_IN_TTL_SECONDS }),
    clearSession: (c: Context): void => void deleteCookie(c, sessionName, options),
    flow: (c: Context, state: string): string | undefined => getCookie(c, flowName(state)),
    setFlow: (c: Context, state: string, sealed: string): void =>
      setCookie(c, flowName(state), sealed, { ...options, maxAge: FLOW_TTL_SECONDS }),
    clearFlow: (c: Context, state: string): void => void deleteCookie(c, flowName(state), options),
  };
};

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).host : null);

/**
 * Protects changes that are authenticated by a cookie against cross-site request forgery. SameSite already keeps
 * browsers from sending the cookie with requests of other sites. This check also refuses requests from other hosts of
 * the same site, and from browsers that do not support SameSite.
 * @throws Refusal forbidden
 */
export const assertOwnPage = (c: Context, { origin }: Pick<SignInCookies, 'origin'>): void => {
  if (!UNSAFE_METHOD.test(c.req.method)) return;
  const from = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  // A page with the Referrer-Policy no-referrer sends the origin `null`. A platform can also be reached by other names
  // than that of PUBLIC_URL, for example as 127.0.0.1. In both cases, only Sec-Fetch-Site shows that the page is ours.
  const isOurs = from === origin;
  const mayBeOurs = from === undefined || from === 'null' || hostOf(from) === c.req.header('host');
  const isOwnPage = isOurs ? (site ?? 'same-origin') === 'same-origin' : mayBeOurs && site === 'same-origin';
  if (!isOwnPage) throw new Refusal('forbidden', `With a session cookie, changes are accepted only from pages of ${origin}`);
};
