import { PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import type { ApiKey } from '../../domain/identity/api-key.ts';
import { hasKeyForm } from '../../domain/identity/api-key-format.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx } from '../context.ts';
import { type ApiKeyAuthenticatorDeps, createApiKeyAuthenticator, unauthorized } from './authenticate-api-key.ts';
import type { IsMember } from './membership.ts';
import { assertMaySignIn, type Claims, resolveSignedInUser } from './sign-in.ts';

export type AuthenticatorDeps = ApiKeyAuthenticatorDeps & {
  /** Called for each request with a token or a cookie (not with an API key). */
  readonly onUserSeen: (user: User.User) => void;
  /** Called for each request with the cookie of a sign-in. */
  readonly onSignInSeen: (signIn: SignIn.SignIn) => void;
  /** Verifies a token of the configured issuer; null if none is configured. @throws Refusal unauthorized, unavailable */
  readonly verifyToken: ((token: string) => Promise<Claims>) | null;
  readonly isMember: IsMember;
  /** A context whose actor is the platform itself. */
  readonly systemContext: () => Ctx;
};

export type Authenticator = {
  /** @throws Refusal unauthorized, key_expired, key_owner_inactive, tenant_suspended, forbidden, unavailable */
  readonly byHeader: (authorization: string | undefined) => Promise<Principal>;
  /** The cookie of a browser that has signed in. @throws Refusal unauthorized, forbidden, unavailable */
  readonly byCookie: (cookie: string) => Promise<SignedInPrincipal>;
  /**
   * Authenticates a browser that signs in with an API key.
   * @throws Refusal unauthorized, key_expired, key_owner_inactive, tenant_suspended, forbidden
   */
  readonly byKey: (text: string) => Promise<{ readonly key: ApiKey; readonly principal: Principal & { kind: 'user' } }>;
};

export type SignedInPrincipal = Principal & { readonly kind: 'user'; readonly sign_in_id: string };

const MALFORMED_KEY = 'This is not an API key: ann_, 8 letters or digits, _ and 38 letters or digits. Check that it was copied completely';
const WRONG_DIGITS = 'A character of this API key is wrong: its last 6 are check digits, which do not suit the others. Copy it again';

const BEARER = /^Bearer +(\S+)$/i;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

const malformedKey = (text: string): Refusal => unauthorized(hasKeyForm(text) ? WRONG_DIGITS : MALFORMED_KEY);

/** Identifies callers by an API key, a token of the configured issuer, or the cookie of a browser that has signed in. */
export const createAuthenticator = (deps: AuthenticatorDeps): Authenticator => {
  const { cache, digest, onUserSeen, onSignInSeen, verifyToken, isMember, systemContext, now } = deps;
  const apiKeys = createApiKeyAuthenticator(deps);

  const byToken = async (claims: Claims): Promise<Principal> => {
    const { state } = await resolveSignedInUser(systemContext(), claims, isMember);
    onUserSeen(state);
    return User.principalOf(state);
  };

  /** @throws Refusal forbidden if it is the key of a runner */
  const userOf = async (key: ApiKey): Promise<Principal & { kind: 'user' }> => {
    const principal = await apiKeys.principalOf(key);
    if (principal.kind !== 'user') throw new Refusal('forbidden', 'The key of a runner cannot sign in: use the API key of a person');
    return principal;
  };

  return {
    byKey: async (text) => {
      const key = await apiKeys.findKey(text);
      if (!key) throw malformedKey(text);
      return { key, principal: await userOf(key) };
    },
    byHeader: async (authorization) => {
      const text = BEARER.exec(authorization ?? '')?.[1];
      if (!text) throw unauthorized(authorization === undefined ? undefined : 'The Authorization header must be: Bearer <API key>');
      const key = apiKeys.findKey(text);
      if (key) return apiKeys.principalOf(await key);
      if (verifyToken && TOKEN.test(text)) return byToken(await verifyToken(text));
      throw malformedKey(text);
    },
    byCookie: async (cookie) => {
      const [id = ''] = cookie.split('.');
      const signIn = isId25(id) ? (await cache.loadCached(SignIn, PLATFORM, id)).state : SignIn.initial;
      SignIn.assertValidFor(signIn, digest(cookie), now());
      if (signIn.key_id !== null) {
        const key = await apiKeys.loadKey(signIn.key_id);
        if (key.status === 'revoked') throw unauthorized('The API key with which this browser signed in was revoked');
        const principal = await userOf(key);
        onSignInSeen(signIn);
        return { ...principal, sign_in_id: id };
      }
      const { state: user } = await cache.loadCached(User, PLATFORM, signIn.user_id);
      await assertMaySignIn(systemContext(), user, isMember);
      onUserSeen(user);
      onSignInSeen(signIn);
      const { by, signed_in_at } = signIn;
      return { ...User.principalOf(user), ...(by === 'oidc' && { signed_in_at }), sign_in_id: id };
    },
  };
};
