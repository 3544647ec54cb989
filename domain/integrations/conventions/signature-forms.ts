import type { SignatureScheme, SignedTimestamp } from './signature-scheme.ts';
import { signedMessage } from './signed-message.ts';

/** The maximum difference between the signed timestamp and the clock of the platform. */
export const TOLERANCE_SECONDS = 300;

const WEBHOOK_SECRET = /^whsec_/;
const PUBLIC_KEY = /^whpk_/;

export const textKey = (secret: string): Uint8Array => Buffer.from(secret);
const base64Key = (secret: string): Uint8Array => Buffer.from(secret.replace(WEBHOOK_SECRET, '').replace(PUBLIC_KEY, ''), 'base64');

export const unixTime = (...headers: string[]): SignedTimestamp => ({
  headers,
  shape: /^(\d{1,12})$/,
  toleranceSeconds: TOLERANCE_SECONDS,
});

/** See `signedMessage`. */
export const signs = (template: string, idHeaders?: readonly string[]): Pick<SignatureScheme, 'template' | 'message'> => ({
  template,
  message: signedMessage(template, idHeaders),
});

/** A header with a prefix and then the HMAC-SHA-256 of the body in hex. `others`: other names of the header. */
export const hexOfBody = (header: string, prefix = '', ...others: string[]): SignatureScheme => ({
  headers: [header, ...others],
  shape: new RegExp(`^${prefix}([0-9a-f]{64})$`),
  prefix,
  encoding: 'hex',
  algorithm: 'sha256',
  key: textKey,
  ...signs('{body}'),
});

/** https://www.standardwebhooks.com; the names of headers start with one of the prefixes. */
export const standardScheme = (...prefixes: string[]): SignatureScheme => {
  const headers = (name: string) => prefixes.map((prefix) => `${prefix}-${name}`);
  return {
    headers: headers('signature'),
    separator: ' ',
    shape: /^v1,([A-Za-z0-9+/]{43}=)$/,
    prefix: 'v1,',
    encoding: 'base64',
    algorithm: 'sha256',
    key: base64Key,
    timestamp: unixTime(...headers('timestamp')),
    ...signs('{id}.{timestamp}.{body}', headers('id')),
  };
};
