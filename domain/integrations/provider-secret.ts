import { hash } from 'node:crypto';
import { cleanPasted, hiddenCharacter, trimPasted, unquoted } from '../pasted-text.ts';
import { invalid } from '../refusal.ts';
import type { IntegrationOptions } from './conventions/integration-options.ts';
import type { ProviderSecret } from './conventions/provider-definition.ts';
import { isEd25519Key } from './ed25519-key.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** For a secret that a user chooses. */
const MIN_SECRET_BYTES = 24;
/** In base62 characters, for a secret that the platform creates: about as many values as 32 random bytes. */
const SECRET_LENGTH = 43;

const HEX_KEY = /^[0-9a-f]{64}$/i;
const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const STANDARD_PUBLIC_KEY = /^whpk_([A-Za-z0-9+/]{43}=)$/;
const VISIBLE_ASCII = /^[ -~]+$/;

const secretOf = (provider: Provider): ProviderSecret => PROVIDER_DEFINITIONS[provider].secret ?? {};

const usesWhsec = (provider: Provider): boolean => secretOf(provider).form === 'whsec';

/** The secret is the public key of the sender. */
export const usesPublicKey = (provider: Provider, { algorithm }: IntegrationOptions): boolean =>
  secretOf(provider).form === 'public_key' || algorithm === 'ed25519';

/** Padding may be absent, but not wrong. */
const isBase64 = (text: string): boolean => (text.endsWith('=') ? text.length % 4 === 0 : text.length % 4 !== 1);

const checkStandardSecret = (provider: Provider, secret: string): void => {
  if (secret.startsWith('whsk_')) throw invalid('/secret', 'is the private key of the sender: only the sender may know it');
  if (secret.startsWith('whpk_') && PROVIDER_DEFINITIONS[provider].options?.includes('algorithm'))
    throw invalid('/secret', 'is a public key: set options.algorithm to ed25519 to use it');
  const encoded = STANDARD_SECRET.exec(secret)?.[1];
  const size = encoded === undefined || !isBase64(encoded) ? 0 : Buffer.from(encoded, 'base64').length;
  if (size < MIN_SECRET_BYTES || size > 64) throw invalid('/secret', 'must be whsec_ and the base64 of 24 to 64 bytes');
};

const checkPublicKey = (provider: Provider, secret: string): void => {
  const isStandard = usesWhsec(provider);
  const encoded = (isStandard ? STANDARD_PUBLIC_KEY.exec(secret)?.[1] : HEX_KEY.exec(secret)?.[0]) ?? '';
  const form = isStandard ? 'whpk_ and base64' : '64 hexadecimal digits';
  if (encoded === '') throw invalid('/secret', `must be the public key of the sender: ${form}`);
  if (!isEd25519Key(Buffer.from(encoded, isStandard ? 'base64' : 'hex')))
    throw invalid('/secret', `must be the public key of the sender: this is not an Ed25519 key, although it has the form (${form})`);
};

/** Signs that a secret was copied with something around it, or damaged, with what the refusal says. Only for secrets that a provider has created. */
const NOT_ALONE: readonly (readonly [RegExp, string])[] = [
  [/^(?:bearer|basic|token)\s/i, 'starts with a word of an HTTP header'],
  [/^[A-Za-z_][\w.-]*\s*[=:]\s*[^=\s]/, 'starts with the name of a setting'],
  [/^[<‹([{]|[>›)\]}]$/, 'has a bracket at one end'],
  [/^["'`“”„‘’«»]|["'`“”„‘’«»]$/, 'has a quotation mark at one end'],
  [/(?:\.{2,}|…)$/, 'is cut off at its end'],
  [/\\(?:[nrtu"']|x[0-9a-f]{2})|%[0-9a-f]{2}|&(?:[a-z]{2,6}|#\d{1,5});/i, 'has an escape sequence of JSON, a URL or HTML'],
  [/^([a-z]{2,}_)\1/i, 'has its first letters twice'],
  [/[;,]$/, 'ends with a semicolon or a comma'],
];
/** Shown on pages instead of a secret. */
const MASK = /[•●∙]{3}|^[*·.…\s]+$/;

const checkAlone = (provider: Provider, secret: string): void => {
  if (MASK.test(secret)) throw invalid('/secret', 'is what pages show instead of a secret: let the page show it, and copy it then');
  if (!secretOf(provider).issuedAs && !usesWhsec(provider)) return;
  const found = NOT_ALONE.find(([form]) => form.test(secret))?.[1];
  if (found) throw invalid('/secret', `${found}: copy only the secret`);
};

const checkMistaken = (provider: Provider, secret: string): void => {
  const { mistaken, issuedAs } = secretOf(provider);
  const found = mistaken?.find(([form]) => form.test(secret))?.[1];
  if (found) throw invalid('/secret', `is ${found} of ${provider}: copy the ${issuedAs} instead`);
};

/** Sent as it is, in a header. HTTP has no place for other characters. */
const checkToken = (secret: string): void => {
  if (!VISIBLE_ASCII.test(secret)) throw invalid('/secret', 'must contain only ASCII characters, because it is sent in a header');
};

/** Removes what copying adds. Quotation marks are removed only if they cannot belong to the secret, as they can if people choose it. */
const cleanSecret = (isFixedForm: boolean, pasted: string): string => {
  const secret = isFixedForm ? cleanPasted(pasted) : trimPasted(pasted);
  if (secret === '') throw invalid('/secret', 'must not be empty', 'too_small');
  if (unquoted(secret) !== null) throw invalid('/secret', `is in quotation marks (${secret[0]}): leave them out, here and at the provider`);
  const hidden = hiddenCharacter(secret);
  if (hidden) throw invalid('/secret', `contains ${hidden}: copy it again, or type it`);
  return secret;
};

/**
 * Returns the secret without the blanks, line ends and invisible characters that were copied with it. Undefined: the platform has to create
 * one; refused for providers that create it themselves.
 * @throws Refusal invalid if no delivery could be verified with the secret, or if it is too short
 */
export const readSecret = (provider: Provider, options: IntegrationOptions, pasted: string | undefined): string | undefined => {
  const { issuedAs, form } = secretOf(provider);
  const isPublic = usesPublicKey(provider, options);
  if (pasted === undefined) {
    const name = issuedAs ?? (isPublic ? 'public key' : undefined);
    if (name) throw invalid('/secret', `is required: copy the ${name} from ${provider}`, 'required');
    return undefined;
  }
  const secret = cleanSecret(isPublic || usesWhsec(provider) || issuedAs !== undefined, pasted);
  checkAlone(provider, secret);
  checkMistaken(provider, secret);
  if (form === 'token') checkToken(secret);
  if (isPublic) checkPublicKey(provider, secret);
  else if (usesWhsec(provider)) checkStandardSecret(provider, secret);
  else if (!issuedAs && Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw invalid('/secret', `must have at least ${MIN_SECRET_BYTES} bytes`, 'too_small');
  return secret;
};

/** `random` returns base62 characters. */
export const createSecret = (provider: Provider, random: (length: number) => string): string =>
  usesWhsec(provider) ? `whsec_${hash('sha256', random(SECRET_LENGTH), 'base64')}` : random(SECRET_LENGTH);
