import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'signinlink';
export const platform = true;

export type SignInLinkFields = {
  user_id: string;
  /** HMAC-SHA-256 of the code in the link, in hex. */
  digest: string;
  expires_at: string;
};

export type SignInLinkEvent =
  | { type: 'SignInLinkIssued'; data: SignInLinkFields }
  /** `ip` of the browser that used the link; null if unknown. */
  | { type: 'SignInLinkUsed'; data: { ip: string | null } };

/** A link for one sign-in of an operator who has no other way to sign in. */
export type SignInLink = SignInLinkFields & { status: 'absent' | 'issued' | 'used'; used_at: string | null; used_from: string | null };

export const initial: SignInLink = { status: 'absent', user_id: '', digest: NO_DIGEST, expires_at: '', used_at: null, used_from: null };

export const evolve = (link: SignInLink, event: Recorded<SignInLinkEvent>): SignInLink => {
  switch (event.type) {
    case 'SignInLinkIssued':
      return { ...link, ...event.data, status: 'issued' };
    case 'SignInLinkUsed':
      return { ...link, status: 'used', used_at: event.at, used_from: event.data.ip };
  }
};

/** Repeating this changes nothing. */
export const issue =
  (fields: SignInLinkFields) =>
  ({ status }: SignInLink): SignInLinkEvent[] =>
    status === 'absent' ? [{ type: 'SignInLinkIssued', data: fields }] : [];

const ADVICE = 'make another with annals login';

/**
 * `digest` of the code that the browser has sent. If the link does not exist, compares it with a placeholder, so that both take the same
 * time.
 * @throws Refusal unauthorized if the code is wrong, or if the link has expired or was used before
 */
export const use =
  (digest: string, { ip, at }: { ip: string | null; at: string }) =>
  (link: SignInLink): SignInLinkEvent[] => {
    if (!isSameDigest(link.digest, digest)) throw new Refusal('unauthorized', `This sign-in link is not valid: ${ADVICE}`);
    if (link.status === 'used')
      throw new Refusal(
        'unauthorized',
        `This link was used at ${link.used_at}${link.used_from ? ` from ${link.used_from}` : ''}: ${ADVICE}`,
      );
    if (link.expires_at <= at) throw new Refusal('unauthorized', `This link expired at ${link.expires_at}: ${ADVICE}`);
    return [{ type: 'SignInLinkUsed', data: { ip } }];
  };
