import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { isUsageDue } from './usage.ts';

export const category = 'signin';
export const platform = true;

export type SignInFields = {
  user_id: string;
  /** The HMAC-SHA-256 of the cookie, in hex. The key of the HMAC is a secret of the platform (the pepper). */
  digest: string;
  expires_at: string;
  /**
   * How the browser signed in. Events of earlier versions lack this field: at that time, browsers could sign in only by
   * OIDC.
   */
  by?: SignInWay;
  /** The API key with which the browser signed in. The signed-in browser then has the limits of this key. */
  key_id?: string | null;
};

export const SIGN_IN_WAYS = ['oidc', 'link', 'key'] as const;
export type SignInWay = (typeof SIGN_IN_WAYS)[number];

export type SignInEvent =
  | { type: 'SignedIn'; data: SignInFields }
  | { type: 'SignInSeen'; data: object }
  | { type: 'SignedOut'; data: object };

/**
 * The sign-in of a browser. Its id is derived from the `state` parameter of the OAuth flow or from the sign-in link, so
 * that each flow and each link can be used for one sign-in only.
 */
export type SignIn = Required<SignInFields> & {
  status: 'absent' | 'active' | 'ended';
  id: string;
  signed_in_at: string;
  last_seen_at: string;
};

export const initial: SignIn = {
  status: 'absent',
  id: '',
  user_id: '',
  digest: NO_DIGEST,
  expires_at: '',
  by: 'oidc',
  key_id: null,
  signed_in_at: '',
  last_seen_at: '',
};

export const evolve = (signIn: SignIn, event: Recorded<SignInEvent>): SignIn => {
  switch (event.type) {
    case 'SignedIn':
      return { ...signIn, ...event.data, status: 'active', id: event.id, signed_in_at: event.at, last_seen_at: event.at };
    case 'SignInSeen':
      return { ...signIn, last_seen_at: event.at };
    case 'SignedOut':
      return { ...signIn, status: 'ended' };
  }
};

/** Starts the sign-in. @throws Refusal unauthorized if the same OAuth flow has already signed in */
export const start =
  (fields: SignInFields) =>
  ({ status }: SignIn): SignInEvent[] => {
    if (status !== 'absent') throw new Refusal('unauthorized', 'This sign-in was already completed: start again at /auth/login');
    return [{ type: 'SignedIn', data: fields }];
  };

/** Records that the browser made a request, at most once an hour. */
export const recordUse =
  (at: string) =>
  ({ status, last_seen_at }: SignIn): SignInEvent[] =>
    status === 'active' && isUsageDue(last_seen_at, at) ? [{ type: 'SignInSeen', data: {} }] : [];

export const end = ({ status }: SignIn): SignInEvent[] => (status === 'active' ? [{ type: 'SignedOut', data: {} }] : []);

/**
 * Checks that the cookie with this digest belongs to this sign-in, and the sign-in is active at `now` (ms since 1970). A
 * sign-in that does not exist has a placeholder digest, so that its check takes the same time. Only who has the cookie
 * of the sign-in learns why it has ended.
 * @throws Refusal unauthorized
 */
export const assertValidFor = (signIn: SignIn, digest: string, now: number): void => {
  if (!isSameDigest(signIn.digest, digest)) throw new Refusal('unauthorized', 'Sign in again at /auth/login');
  if (signIn.status === 'ended') throw new Refusal('unauthorized', 'This browser was signed out, here or in another browser');
  if (Date.parse(signIn.expires_at) <= now) throw new Refusal('unauthorized', `The sign-in was valid until ${signIn.expires_at}`);
};
