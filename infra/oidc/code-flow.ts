import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import type { CodeFlow } from '../../api/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Issuer, identityClaims, issuerUnavailable } from './issuer.ts';

const MINUTES = 10;
const SCOPE = 'openid email profile';

type Begun = { readonly state: string; readonly nonce: string; readonly verifier: string; readonly returnTo: string };

const tooLate = (): Refusal => new Refusal('unauthorized', 'this sign-in was begun too long ago, or elsewhere: begin at /auth/login');

const isDown = (error: unknown): boolean => {
  if (error instanceof TypeError) return true;
  if (!(error instanceof oidc.ClientError)) return false;
  return error.code === 'OAUTH_TIMEOUT' || (error.cause instanceof Response && error.cause.status >= 500);
};

/** What happened at the issuer, as the browser's user may know it. */
const refusalOf = (error: unknown): Refusal => {
  if (error instanceof oidc.AuthorizationResponseError) return new Refusal('forbidden', `the issuer answered ${error.error}`);
  if (isDown(error)) return issuerUnavailable();
  return new Refusal('unauthorized', 'the issuer did not confirm this sign-in: begin again at /auth/login');
};

type Options = {
  readonly issuer: Issuer;
  readonly publicUrl: string;
  /** 32 bytes that every process of the platform has. */
  readonly key: Uint8Array;
  readonly now: () => number;
  readonly logger: Logger;
};

/** Authorization code with PKCE. What has to come back unread and unaltered is encrypted into the browser's cookie. */
export const createCodeFlow = ({ issuer, publicUrl, key, now, logger }: Options): CodeFlow => {
  const callback = `${publicUrl}/auth/callback`;

  const seal = ({ state, ...rest }: Begun): Promise<string> =>
    new EncryptJWT(rest)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setSubject(state)
      .setExpirationTime(new Date(now() + MINUTES * 60_000))
      .encrypt(key);

  const unseal = async (sealed: string): Promise<Begun> => {
    try {
      const { payload } = await jwtDecrypt<Omit<Begun, 'state'>>(sealed, key, {
        currentDate: new Date(now()),
        requiredClaims: ['sub', 'exp'],
      });
      return { state: payload.sub!, nonce: payload.nonce, verifier: payload.verifier, returnTo: payload.returnTo };
    } catch (error) {
      if (error instanceof errors.JOSEError) throw tooLate();
      throw error;
    }
  };

  /** The claims of the ID token, and of the user's own page at the issuer where that keeps the address. */
  const claimsOf = async (configuration: oidc.Configuration, tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers) => {
    const claims = tokens.claims()!;
    if (claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint) return claims;
    return { ...claims, ...(await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)) };
  };

  return {
    begin: async (returnTo) => {
      const configuration = await issuer();
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const location = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: callback,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { location: location.href, state, sealed: await seal({ state, nonce, verifier, returnTo }) };
    },
    finish: async (query, sealed) => {
      const { state, nonce, verifier, returnTo } = await unseal(sealed);
      const configuration = await issuer();
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, new URL(callback + query), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return { claims: identityClaims(await claimsOf(configuration, tokens)), state, returnTo };
      } catch (error) {
        if (error instanceof Refusal) throw error;
        logger.warn({ err: error }, 'a sign-in failed at the issuer');
        throw refusalOf(error);
      }
    },
  };
};
