import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'signin';
export const platform = true;

export type SignInFields = {
  user_id: string;
  /** HMAC-SHA-256 of the whole cookie under the platform's pepper, hex. */
  digest: string;
  expires_at: string;
};

export type SignInEvent = { type: 'SignedIn'; data: SignInFields } | { type: 'SignedOut'; data: object };

/** A browser that is signed in. Its id follows from the state that it brought back, so that no state counts twice. */
export type SignIn = SignInFields & { status: 'absent' | 'active' | 'over'; id: string };

export const initial: SignIn = { status: 'absent', id: '', user_id: '', digest: NO_DIGEST, expires_at: '' };

export const evolve = (signIn: SignIn, event: Recorded<SignInEvent>): SignIn => {
  switch (event.type) {
    case 'SignedIn':
      return { ...event.data, status: 'active', id: event.id };
    case 'SignedOut':
      return { ...signIn, status: 'over' };
  }
};

/** @throws Refusal unauthorized where this state was used before */
export const start =
  (fields: SignInFields) =>
  ({ status }: SignIn): SignInEvent[] => {
    if (status !== 'absent') throw new Refusal('unauthorized', 'this sign-in was finished before: begin again');
    return [{ type: 'SignedIn', data: fields }];
  };

export const end = ({ status }: SignIn): SignInEvent[] => (status === 'active' ? [{ type: 'SignedOut', data: {} }] : []);

/** Whether a cookie of this digest is signed in; an absent one is compared with a dummy. */
export const isValidFor = (signIn: SignIn, digest: string, now: number): boolean =>
  isSameDigest(signIn.digest, digest) && signIn.status === 'active' && Date.parse(signIn.expires_at) > now;
