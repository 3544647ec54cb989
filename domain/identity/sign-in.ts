import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { isUsageDue } from './usage.ts';

export const category = 'signin';
export const platform = true;

export type SignInFields = {
  user_id: string;
  /** HMAC-SHA-256 of the cookie, in hex, with a secret of the platform (the pepper). */
  digest: string;
  expires_at: string;
  /** Absent in events of earlier versions, when OIDC was the only way. */
  by?: SignInWay;
  /** The signed-in browser has the limits of this API key. */
  key_id?: string | null;
};

export const SIGN_IN_WAYS = ['oidc', 'link', 'key'] as const;
export type SignInWay = (typeof SIGN_IN_WAYS)[number];

export type SignInEvent =
  | { type: 'SignedIn'; data: SignInFields }
  | { type: 'SignInSeen'; data: object }
  | { type: 'SignedOut'; data: object };

/** The id is derived from the `state` parameter of the OAuth flow or from the sign-in link: each can be used for one sign-in only. */
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

/** @throws Refusal unauthorized if the same OAuth flow has already signed in */
export const start =
  (fields: SignInFields) =>
  ({ status }: SignIn): SignInEvent[] => {
    if (status !== 'absent') throw new Refusal('unauthorized', 'This sign-in was already completed: start again at /auth/login');
    return [{ type: 'SignedIn', data: fields }];
  };

/** At most once an hour. */
export const recordUse =
  (at: string) =>
  ({ status, last_seen_at }: SignIn): SignInEvent[] =>
    status === 'active' && isUsageDue(last_seen_at, at) ? [{ type: 'SignInSeen', data: {} }] : [];

export const end = ({ status }: SignIn): SignInEvent[] => (status === 'active' ? [{ type: 'SignedOut', data: {} }] : []);

/**
 * `now` in ms since 1970. A missing sign-in has a placeholder digest, so its check takes the same time. Only the holder of the cookie
 * learns why a sign-in has ended.
 * @throws Refusal unauthorized
 */
export const assertValidFor = (signIn: SignIn, digest: string, now: number): void => {
  if (!isSameDigest(signIn.digest, digest)) throw new Refusal('unauthorized', 'Sign in again at /auth/login');
  if (signIn.status === 'ended') throw new Refusal('unauthorized', 'This browser was signed out, here or in another browser');
  if (Date.parse(signIn.expires_at) <= now) throw new Refusal('unauthorized', `The sign-in was valid until ${signIn.expires_at}`);
};
