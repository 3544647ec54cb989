import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';

const TIMEOUT_SECONDS = 5;
/** So long a failed discovery is not tried again: an issuer that is down is not asked once a request. */
const RETRY_DELAY_MS = 1_000;

export type IssuerConfig = Partial<Pick<Config, 'oidcIssuer' | 'oidcAudience' | 'oidcClientId' | 'oidcClientSecret'>>;

export const issuerUnavailable = (): Refusal => new Refusal('unavailable', 'the issuer of sign-ins can not be reached', { retryAfter: 5 });

/** The configured issuer as its discovery document says; asked for at first use and kept. @throws Refusal unavailable */
export const createIssuer = ({ oidcIssuer, oidcAudience, oidcClientId, oidcClientSecret }: IssuerConfig, logger: Logger) => {
  const url = new URL(oidcIssuer!);
  const execute = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  let known: Promise<oidc.Configuration> | undefined;

  const discover = async (): Promise<oidc.Configuration> => {
    try {
      const client = oidcClientSecret === undefined ? oidc.None() : undefined;
      return await oidc.discovery(url, oidcClientId ?? oidcAudience!, oidcClientSecret, client, { execute, timeout: TIMEOUT_SECONDS });
    } catch (error) {
      logger.warn({ err: error }, 'the discovery document of OIDC_ISSUER can not be had');
      setTimeout(() => {
        known = undefined;
      }, RETRY_DELAY_MS).unref();
      throw issuerUnavailable();
    }
  };

  return (): Promise<oidc.Configuration> => {
    known ??= discover();
    return known;
  };
};

export type Issuer = ReturnType<typeof createIssuer>;

/** Who is meant by an issuer's claims. @throws Refusal unauthorized where there is no address, or nobody has verified it */
export const identityClaims = ({ email, email_verified, name }: Readonly<Record<string, unknown>>): Claims => {
  if (typeof email !== 'string' || email.length > 253 || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new Refusal('unauthorized', 'the issuer says no e-mail address: ask for the scope email');
  if (email_verified !== true && email_verified !== 'true')
    throw new Refusal('unauthorized', 'the issuer has not verified the e-mail address');
  return { email: email.toLowerCase(), name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 255) : null };
};
