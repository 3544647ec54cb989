import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import type { CodeFlow } from '../../api/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import { statusOfResponse } from '../http/foreign-response.ts';
import { type Issuer, identityClaims, issuerUnavailable } from './issuer.ts';

const MAX_SIGN_IN_MINUTES = 10;
const SCOPE = 'openid email profile';

/** The data that a browser stores, encrypted, between the two requests of a sign-in. */
type PendingSignIn = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  readonly maxAge: number | null;
};

const expired = (): Refusal =>
  new Refusal('unauthorized', 'This sign-in took too long or was started in another browser: start again at /auth/login');

const isIssuerDown = (error: unknown): boolean => {
  if (error instanceof TypeError) return true;
  if (!(error instanceof oidc.ClientError)) return false;
  return error.code === 'OAUTH_TIMEOUT' || (statusOfResponse(error.cause) ?? 0) >= 500;
};

/** The reason why the issuer did not confirm the sign-in is logged, and not shown to the user. */
const refusalOf = (error: unknown): Refusal => {
  if (error instanceof oidc.AuthorizationResponseError) return new Refusal('forbidden', `The issuer answered ${error.error}`);
  if (isIssuerDown(error)) return issuerUnavailable();
  return new Refusal('unauthorized', 'The issuer did not confirm this sign-in: start again at /auth/login');
};

type Options = {
  readonly issuer: Issuer;
  readonly publicUrl: string;
  /** 32 bytes, the same in all processes of the platform. */
  readonly key: Uint8Array;
  readonly now: () => number;
  readonly logger: Logger;
  /** Whether addresses count as verified if the issuer does not say whether they are. */
  readonly trustsEmail: boolean;
};

/** The browser can neither read nor change it. */
const seal = ({ state, ...rest }: PendingSignIn, { key, now }: Options): Promise<string> =>
  new EncryptJWT(rest)
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setSubject(state)
    .setExpirationTime(new Date(now() + MAX_SIGN_IN_MINUTES * 60_000))
    .encrypt(key);

/** @throws Refusal unauthorized if it has expired or was changed */
const unseal = async (sealed: string, { key, now }: Options): Promise<PendingSignIn> => {
  try {
    const { payload } = await jwtDecrypt<Omit<PendingSignIn, 'state'>>(sealed, key, {
      currentDate: new Date(now()),
      requiredClaims: ['sub', 'exp'],
    });
    const { sub, nonce, verifier, returnTo, maxAge = null } = payload;
    return { state: sub!, nonce, verifier, returnTo, maxAge };
  } catch (error) {
    if (error instanceof errors.JOSEError) throw expired();
    throw error;
  }
};

type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;

/** Adds claims of the userinfo endpoint if the address, or whether it is verified, is missing, unless they are about another address. */
const claimsOf = async (configuration: oidc.Configuration, tokens: Tokens, logger: Logger) => {
  const claims = tokens.claims()!;
  const { email, email_verified } = claims;
  if ((email !== undefined && email_verified !== undefined) || !configuration.serverMetadata().userinfo_endpoint) return claims;
  try {
    const info = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return email === undefined || info.email === email ? { ...claims, ...info } : claims;
  } catch (error) {
    if (email === undefined) throw error;
    logger.debug({ err: error }, 'the userinfo endpoint of OIDC_ISSUER did not answer');
    return claims;
  }
};

/** Uses PKCE. The platform stores nothing: the state is in an encrypted cookie in the browser. */
export const createCodeFlow = (options: Options): CodeFlow => {
  const { issuer, publicUrl, logger, now, trustsEmail } = options;
  const callback = `${publicUrl}/auth/callback`;

  return {
    begin: async (returnTo, maxAge) => {
      const configuration = await issuer();
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const location = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: callback,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(maxAge !== null && { max_age: String(maxAge) }),
      });
      return { location: location.href, state, sealed: await seal({ state, nonce, verifier, returnTo, maxAge }, options) };
    },
    finish: async (query, sealed) => {
      const { state, nonce, verifier, returnTo, maxAge } = await unseal(sealed, options);
      const configuration = await issuer();
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, new URL(callback + query), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
          ...(maxAge !== null && { maxAge }),
        });
        return { claims: identityClaims(await claimsOf(configuration, tokens, logger), { now: now(), trustsEmail }), state, returnTo };
      } catch (error) {
        if (error instanceof Refusal) throw error;
        logger.warn({ err: error }, 'a sign-in failed at the issuer');
        throw refusalOf(error);
      }
    },
  };
};
