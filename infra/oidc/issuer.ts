import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { cleanDisplayText, displayText } from '../../domain/fields.ts';
import { MAX_NAME_LENGTH } from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';

const TIMEOUT_SECONDS = 5;
/**
 * After a failed attempt to fetch the issuer's discovery document, requests are refused for this time (milliseconds)
 * without a new attempt.
 */
const RETRY_DELAY_MS = 1_000;

export type IssuerConfig = Partial<Pick<Config, 'oidcIssuer' | 'oidcAudience' | 'oidcClientId' | 'oidcClientSecret'>>;

export const issuerUnavailable = (): Refusal =>
  new Refusal('unavailable', 'The issuer for sign-ins cannot be reached: try again', { retryAfter: 5 });

/**
 * Creates the function that returns the issuer's configuration. The first call fetches it from the issuer's discovery
 * document. Later calls return the same configuration.
 * @throws Refusal unavailable
 */
export const createIssuer = ({ oidcIssuer, oidcAudience, oidcClientId, oidcClientSecret }: IssuerConfig, logger: Logger) => {
  const url = new URL(oidcIssuer!);
  const customizations = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  let configuration: Promise<oidc.Configuration> | undefined;

  const discover = async (): Promise<oidc.Configuration> => {
    try {
      const client = oidcClientSecret === undefined ? oidc.None() : undefined;
      return await oidc.discovery(url, oidcClientId ?? oidcAudience!, oidcClientSecret, client, {
        execute: customizations,
        timeout: TIMEOUT_SECONDS,
      });
    } catch (error) {
      logger.warn({ err: error }, 'the discovery document of OIDC_ISSUER could not be fetched');
      setTimeout(() => {
        configuration = undefined;
      }, RETRY_DELAY_MS).unref();
      throw issuerUnavailable();
    }
  };

  return (): Promise<oidc.Configuration> => {
    configuration ??= discover();
    return configuration;
  };
};

export type Issuer = ReturnType<typeof createIssuer>;

/** The maximum time by which the issuer's clock may be ahead of ours, in seconds. */
export const MAX_CLOCK_SKEW_SECONDS = 30;
const AddressText = displayText(3, 253);

/** Checks that a token was not issued in the future. `now` is in milliseconds. @throws Refusal unauthorized */
const assertIssued = (iat: unknown, now: number): void => {
  if (iat === undefined || (typeof iat === 'number' && iat <= now / 1_000 + MAX_CLOCK_SKEW_SECONDS)) return;
  throw new Refusal('unauthorized', 'The token is issued in the future: check the clock of the issuer');
};

/**
 * Reads a user's identity from an issuer's claims. The name is cleaned, because the issuer may let users choose any
 * text. `now` is in milliseconds.
 * @throws Refusal unauthorized if the claims contain no verified e-mail address, or were issued in the future
 */
export const identityClaims = ({ iat, email, email_verified, name }: Readonly<Record<string, unknown>>, now: number): Claims => {
  assertIssued(iat, now);
  if (typeof email !== 'string' || !AddressText.safeParse(email).success || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new Refusal('unauthorized', 'The token contains no e-mail address: request the scope email');
  if (email_verified !== true) throw new Refusal('unauthorized', 'The issuer has not verified the e-mail address');
  return { email: email.toLowerCase(), name: typeof name === 'string' ? cleanDisplayText(name, MAX_NAME_LENGTH) : null };
};
