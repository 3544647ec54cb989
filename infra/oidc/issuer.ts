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

export type IssuerConfig = Partial<Pick<Config, 'oidcIssuer' | 'oidcAudience' | 'oidcClientId' | 'oidcClientSecret' | 'oidcTrustEmail'>>;

export const issuerUnavailable = (): Refusal =>
  new Refusal('unavailable', 'The issuer for sign-ins cannot be reached: try again', { retryAfter: 5 });

/** Returns the name that the discovery document gives the issuer, if it is another one than OIDC_ISSUER; otherwise null. */
const otherName = (error: unknown): string | null => {
  const { attribute, body } = Object((error as Error | null)?.cause) as { attribute?: string; body?: { issuer?: unknown } };
  return attribute === 'issuer' && typeof body?.issuer === 'string' ? body.issuer.slice(0, 200) : null;
};

/**
 * Creates the function that returns the issuer's configuration. The first call fetches it from the issuer's discovery
 * document. Later calls return the same configuration.
 * @throws Refusal unavailable, not_configured if the issuer has another name
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
      const name = otherName(error);
      if (name === null) throw issuerUnavailable();
      throw new Refusal('not_configured', `The issuer calls itself ${name}: the operator must set OIDC_ISSUER to exactly this`);
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
const ADDRESS = /^[^\s@\p{Cf}]+@[^\s@\p{Cf}]+$/u;

/**
 * Whether a text is an e-mail address. Addresses with characters such as the Kelvin sign are not: in lower case, they
 * would be the address of somebody else.
 */
const isAddress = (text: string): boolean =>
  AddressText.safeParse(text).success && ADDRESS.test(text) && !/[a-z]/.test(text.replace(/[\0-\x7f]/g, '').toLowerCase());

/** Checks that a token was not issued in the future. `now` is in milliseconds. @throws Refusal unauthorized */
const assertIssued = (iat: unknown, now: number): void => {
  if (iat !== undefined && typeof iat !== 'number') throw new Refusal('unauthorized', 'The claim iat must be a number of seconds');
  if (iat === undefined || iat <= now / 1_000 + MAX_CLOCK_SKEW_SECONDS) return;
  throw new Refusal('unauthorized', 'The token is issued in the future: check the clock of the issuer');
};

type IssuedClaims = Readonly<Record<string, unknown>>;

/** Whether Entra ID says that the tenant owns the domain of the address (`xms_edov`); undefined if it does not say so. */
const isDomainOwned = ({ xms_edov }: IssuedClaims): boolean | undefined =>
  xms_edov === undefined || xms_edov === null ? undefined : xms_edov === true || xms_edov === 1 || xms_edov === '1';

/**
 * Checks that the issuer has verified the address. If the issuer says nothing about this, `trustsEmail` decides: then the
 * operator vouches for all addresses of the issuer.
 * @throws Refusal unauthorized
 */
const assertVerified = (claims: IssuedClaims, trustsEmail: boolean): void => {
  const { email_verified } = claims;
  if (email_verified === true) return;
  if (email_verified === false)
    throw new Refusal('unauthorized', 'The issuer says that the e-mail address is not verified (email_verified is false): verify it there');
  if (email_verified !== undefined && email_verified !== null)
    throw new Refusal('unauthorized', `The claim email_verified is ${JSON.stringify(email_verified).slice(0, 40)}, but must be true`);
  const isOwned = isDomainOwned(claims);
  if (isOwned === false)
    throw new Refusal('unauthorized', 'The issuer says that the domain of the e-mail address is not its own (xms_edov is false)');
  if (isOwned || trustsEmail) return;
  const remedy = 'the operator must add this claim at the issuer, or set OIDC_TRUST_EMAIL=true to vouch for its addresses';
  throw new Refusal('unauthorized', `The issuer does not say whether the e-mail address is verified (no claim email_verified): ${remedy}`);
};

/**
 * Reads a user's identity from an issuer's claims. The name is cleaned, because the issuer may let users choose any
 * text. `now` is in milliseconds.
 * @throws Refusal unauthorized if the claims contain no verified e-mail address, or were issued in the future
 */
export const identityClaims = (
  claims: IssuedClaims,
  { now, trustsEmail = false }: { now: number; trustsEmail?: boolean | undefined },
): Claims => {
  const { iat, email, name } = claims;
  assertIssued(iat, now);
  if (email === undefined || email === null || email === '')
    throw new Refusal(
      'unauthorized',
      'The issuer sends no e-mail address: request the scope email, and have the issuer send the claim email',
    );
  if (typeof email !== 'string' || !isAddress(email))
    throw new Refusal('unauthorized', 'The claim email of the issuer is not an e-mail address');
  assertVerified(claims, trustsEmail);
  return { email: email.toLowerCase(), name: typeof name === 'string' ? cleanDisplayText(name, MAX_NAME_LENGTH) : null };
};
