import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Issuer, type IssuerConfig, identityClaims, issuerUnavailable, MAX_CLOCK_SKEW_SECONDS } from './issuer.ts';

/** All are asymmetric: otherwise an attacker could use the issuer's public key as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** The header `typ` of ID and access tokens. Others, such as logout tokens, are refused. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);
const KEY_SET_OPTIONS = { timeoutDuration: 5_000, cooldownDuration: 5_000, cacheMaxAge: 600_000 };

/** True if the keys could not be fetched: jose throws its most general error if the response is not 200 or not JSON. */
const isKeySetError = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  error.code === errors.JOSEError.code;

/** Verifies with the keys that the issuer publishes, and only for the configured audience. @throws Refusal unauthorized, unavailable */
export const createTokenVerifier = (issuer: Issuer, { oidcAudience, oidcClientId, oidcTrustEmail }: IssuerConfig, logger: Logger) => {
  let keySet: { readonly url: string; readonly getKey: JWTVerifyGetKey } | undefined;

  const keySetAt = (url: string): JWTVerifyGetKey => {
    if (keySet?.url !== url) keySet = { url, getKey: createRemoteJWKSet(new URL(url), KEY_SET_OPTIONS) };
    return keySet.getKey;
  };

  return async (token: string): Promise<Claims> => {
    const { issuer: issuerName, jwks_uri } = (await issuer()).serverMetadata();
    if (!jwks_uri) throw issuerUnavailable();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keySetAt(jwks_uri), {
        issuer: issuerName,
        audience: oidcAudience ?? oidcClientId!,
        algorithms: ALGORITHMS,
        clockTolerance: MAX_CLOCK_SKEW_SECONDS,
        requiredClaims: ['sub', 'exp'],
      });
      if (!TYPES.has(protectedHeader.typ?.toLowerCase())) throw new errors.JWTInvalid('not an ID token or access token');
      return identityClaims(payload, { now: Date.now(), trustsEmail: oidcTrustEmail });
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (isKeySetError(error)) {
        logger.warn({ err: error }, 'the keys of OIDC_ISSUER could not be fetched');
        throw issuerUnavailable();
      }
      if (error instanceof errors.JWTExpired) throw new Refusal('unauthorized', 'The token has expired');
      throw new Refusal('unauthorized', 'The token was not issued for this service by the configured issuer');
    }
  };
};
