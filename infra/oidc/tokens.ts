import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Issuer, type IssuerConfig, identityClaims, issuerUnavailable } from './issuer.ts';

/** Signatures by a private key only: a public key must never pass for a shared secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** An ID token or an access token; a logout token is neither. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);
const SKEW_SECONDS = 30;
const KEYS = { timeoutDuration: 5_000, cooldownDuration: 5_000, cacheMaxAge: 600_000 };

/** The keys did not come, or are none: what jose has no error of its own for is an answer of the issuer's that is not 200, or not JSON. */
const isIssuers = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  error.code === errors.JOSEError.code;

/** Verifies the tokens of an issuer for this audience by the keys that it publishes. @throws Refusal unauthorized, unavailable */
export const createTokenVerifier = (issuer: Issuer, { oidcAudience, oidcClientId }: IssuerConfig, logger: Logger) => {
  let keys: { readonly at: string; readonly get: JWTVerifyGetKey } | undefined;

  const keysAt = (at: string): JWTVerifyGetKey => {
    if (keys?.at !== at) keys = { at, get: createRemoteJWKSet(new URL(at), KEYS) };
    return keys.get;
  };

  return async (token: string): Promise<Claims> => {
    const { issuer: name, jwks_uri } = (await issuer()).serverMetadata();
    if (!jwks_uri) throw issuerUnavailable();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keysAt(jwks_uri), {
        issuer: name,
        audience: oidcAudience ?? oidcClientId!,
        algorithms: ALGORITHMS,
        clockTolerance: SKEW_SECONDS,
        requiredClaims: ['sub', 'exp'],
      });
      if (!TYPES.has(protectedHeader.typ?.toLowerCase())) throw new errors.JWTInvalid('not a token to ask with');
      return identityClaims(payload);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (isIssuers(error)) {
        logger.warn({ err: error }, 'the keys of OIDC_ISSUER can not be had');
        throw issuerUnavailable();
      }
      if (error instanceof errors.JWTExpired) throw new Refusal('unauthorized', 'the token has expired');
      throw new Refusal('unauthorized', 'the token is none of the configured issuer for this service');
    }
  };
};
