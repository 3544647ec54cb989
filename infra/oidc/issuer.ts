import * as oidc from 'openid-client';
import type { Logger } from 'pino';
import type { Claims } from '../../commands/identity/sign-in.ts';
import { cleanDisplayText, displayText } from '../../domain/fields.ts';
import { MAX_NAME_LENGTH } from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';

const TIMEOUT_SECONDS = 5;
/** How long requests are refused after the discovery document could not be fetched, in milliseconds. */
const RETRY_DELAY_MS = 1_000;

export type IssuerConfig = Partial<Pick<Config, 'oidcIssuer' | 'oidcAudience' | 'oidcClientId' | 'oidcClientSecret' | 'oidcTrustEmail'>>;

export const issuerUnavailable = (): Refusal =>
  new Refusal('unavailable', 'The issuer for sign-ins cannot be reached: try again', { retryAfter: 5 });

/** The issuer in the discovery document, if it differs from OIDC_ISSUER; otherwise null. */
const otherName = (error: unknown): string | null => {
  const { attribute, body } = Object((error as Error | null)?.cause) as { attribute?: string; body?: { issuer?: unknown } };
  return attribute === 'issuer' && typeof body?.issuer === 'string' ? body.issuer.slice(0, 200) : null;
};

/**
 * The first call fetches the configuration from the discovery document; later calls return the same.
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

/** Refuses characters such as the Kelvin sign: in lower case, the address would be that of another person. */
const isAddress = (text: string): boolean =>
  AddressText.safeParse(text).success && ADDRESS.test(text) && !/[a-z]/.test(text.replace(/[\0-\x7f]/g, '').toLowerCase());

/** `now` is in milliseconds. @throws Refusal unauthorized if the token was issued in the future */
const assertIssued = (iat: unknown, now: number): void => {
  if (iat !== undefined && typeof iat !== 'number') throw new Refusal('unauthorized', 'The claim iat must be a number of seconds');
  if (iat === undefined || iat <= now / 1_000 + MAX_CLOCK_SKEW_SECONDS) return;
  throw new Refusal('unauthorized', 'The token is issued in the future: check the clock of the issuer');
};

type IssuedClaims = Readonly<Record<string, unknown>>;

/** Whether Entra ID says that the tenant owns the domain of the address (`xms_edov`); undefined if it does not say so. */
const isDomainOwned = ({ xms_edov }: IssuedClaims): boolean | undefined =>
  xms_edov === undefined || xms_edov === null ? undefined : xms_edov === true || xms_edov === 1 || xms_edov === '1';

/** If the issuer does not say so, `trustsEmail` decides: the operator then vouches for all its addresses. @throws Refusal unauthorized */
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
 * The name is cleaned, because users may choose any text. `now` is in milliseconds.
 * @throws Refusal unauthorized if there is no verified e-mail address, or the claims were issued in the future
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
