import { createPublicKey, hash } from 'node:crypto';
import { invalid } from '../refusal.ts';
import type { IntegrationOptions } from './custom-scheme.ts';
import type { Provider } from './provider.ts';

/** The minimum length of a secret that a user chooses, in bytes. */
const MIN_SECRET_BYTES = 24;
/**
 * The length of a secret that the platform creates, in base62 characters. It has about as many possible values as 32
 * random bytes.
 */
const SECRET_LENGTH = 43;

/** Maps each provider that creates the secret or key itself to the name that the provider uses for it. */
const ISSUED: Partial<Record<Provider, string>> = {
  slack: 'signing secret',
  zoom: 'secret token',
  stripe: 'signing secret',
  linear: 'signing secret',
  shopify: 'client secret',
  twilio: 'auth token',
  discord: 'public key',
  pagerduty: 'signing secret',
  sentry: 'client secret',
  intercom: 'client secret',
};

const HEX_KEY = /^[0-9a-f]{64}$/i;
const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const STANDARD_PUBLIC_KEY = /^whpk_([A-Za-z0-9+/]{43}=)$/;

const isPublicKey = (key: Uint8Array): boolean => {
  try {
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') }, format: 'jwk' });
    return key.length === 32;
  } catch {
    return false;
  }
};

const usesWhsec = (provider: Provider): boolean => provider === 'standard_webhooks' || provider === 'gitlab';

const checkStandardSecret = (secret: string): void => {
  const encoded = STANDARD_SECRET.exec(secret)?.[1];
  const size = encoded === undefined ? 0 : Buffer.from(encoded, 'base64').length;
  if (size < MIN_SECRET_BYTES || size > 64) throw invalid('/secret', 'must be whsec_ and the base64 of 24 to 64 bytes');
};

const checkPublicKey = (provider: Provider, secret: string): void => {
  const isStandard = provider === 'standard_webhooks';
  const encoded = (isStandard ? STANDARD_PUBLIC_KEY.exec(secret)?.[1] : HEX_KEY.exec(secret)?.[0]) ?? '';
  if (isPublicKey(Buffer.from(encoded, isStandard ? 'base64' : 'hex'))) return;
  throw invalid('/secret', `must be the public key of the sender: ${isStandard ? 'whpk_ and base64' : '64 hexadecimal digits'}`);
};

/**
 * Checks the secret of an integration. If it is undefined, the platform has to create one; this is refused for
 * providers that create it themselves.
 * @throws Refusal invalid if the secret is not acceptable
 */
export const checkSecret = (provider: Provider, { algorithm }: IntegrationOptions, secret: string | undefined): void => {
  const isPublic = provider === 'discord' || algorithm === 'ed25519';
  if (secret === undefined) {
    const name = ISSUED[provider] ?? (isPublic ? 'public key' : undefined);
    if (name) throw invalid('/secret', `is required: copy the ${name} from ${provider}`, 'required');
    return;
  }
  if (isPublic) checkPublicKey(provider, secret);
  else if (usesWhsec(provider)) checkStandardSecret(secret);
  else if (!ISSUED[provider] && Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw invalid('/secret', `must have at least ${MIN_SECRET_BYTES} bytes`, 'too_small');
};

/** Creates a secret in the format of the provider. `random` returns a text of `length` random base62 characters. */
export const createSecret = (provider: Provider, random: (length: number) => string): string =>
  usesWhsec(provider) ? `whsec_${hash('sha256', random(SECRET_LENGTH), 'base64')}` : random(SECRET_LENGTH);
