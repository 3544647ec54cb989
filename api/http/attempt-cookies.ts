import { serialize } from 'hono/utils/cookie';

/** A browser may have this many unfinished attempts to sign in or to connect an account, each with a cookie. */
const MAX_ATTEMPTS = 10;

/** The start of the names of cookies that belong to one attempt. */
export const FLOW = 'annals_flow_';
export const LINK = 'annals_link_';
const ATTEMPT = new RegExp(`^(?:__Host-)?(?:${FLOW}|${LINK})`);

/**
 * Returns the Set-Cookie headers that end the oldest attempts of a browser if it has too many: their cookies would make
 * its requests too large. `header` is the Cookie header, in which browsers send older cookies first (RFC 6265, 5.4).
 */
export const endedAttempts = (header: string): string[] => {
  if (!header.includes(FLOW) && !header.includes(LINK)) return [];
  const names = header.split(';').map((pair) => pair.split('=', 1)[0]!.trim());
  const attempts = names.filter((name) => ATTEMPT.test(name));
  return attempts
    .slice(0, Math.max(0, attempts.length - MAX_ATTEMPTS))
    .map((name) => serialize(name, '', { path: '/', httpOnly: true, sameSite: 'Lax', secure: name.startsWith('__Host-'), maxAge: 0 }));
};
