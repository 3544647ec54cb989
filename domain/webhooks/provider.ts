import { hash } from 'node:crypto';
import { type JsonVerdict, scanJson } from '../json-scanner.ts';
import { payloadOf } from './form-payload.ts';
import { type SignatureScheme, type SignedProvider, signatureSchemes } from './signature.ts';

/** The names of the headers in which a provider sends the delivery id and the event name. */
export type ProviderHeaders = { readonly delivery: string; readonly event: string };

const PROVIDER_HEADERS: Readonly<Record<SignedProvider, ProviderHeaders>> = {
  github: { delivery: 'x-github-delivery', event: 'x-github-event' },
};

/**
 * Returns the signature scheme and the header names of a provider. For an unknown integration, pass undefined: the
 * check then uses the scheme of `github`, so that it takes the same time as for a known integration.
 */
export const presetOf = (provider: string | undefined): { scheme: SignatureScheme; headers: ProviderHeaders } => {
  const known = (provider ?? '') in signatureSchemes ? (provider as SignedProvider) : 'github';
  return { scheme: signatureSchemes[known], headers: PROVIDER_HEADERS[known] };
};

export type Media = 'json' | 'form';

const MEDIA_TYPES: Readonly<Record<string, Media>> = { 'application/json': 'json', 'application/x-www-form-urlencoded': 'form' };
const WITH_UTF8_CHARSET = /^([\w./+-]+)\s*;\s*charset="?utf-?8"?\s*$/i;

/**
 * Returns which kind of body a content type declares; null if deliveries must not have this content type. The only
 * allowed charset is UTF-8.
 */
export const mediaOf = (contentType: string): Media | null =>
  MEDIA_TYPES[contentType] ?? MEDIA_TYPES[(WITH_UTF8_CHARSET.exec(contentType)?.[1] ?? contentType).trim().toLowerCase()] ?? null;

/**
 * Checks whether a body is JSON that is not nested too deeply. If the body is a form, only its field `payload` is
 * checked.
 */
export const jsonOf = (media: Media, body: Uint8Array): JsonVerdict => {
  const json = media === 'json' ? body : payloadOf(body);
  return json ? scanJson(json) : 'not_json';
};

/** `sha256` is the SHA-256 of the body, in hex. */
export type InspectedBody = { readonly sha256: string; readonly json: JsonVerdict };

/** Computes the digest of a body and checks whether it is JSON. The time grows with the size of the body. */
export const inspectBody = (media: Media, body: Uint8Array): InspectedBody => ({ sha256: sha256Of(body), json: jsonOf(media, body) });

const MAX_NAME_BYTES = 255;

/** The HTTP server joins the values of a repeated header with this separator. */
const VALUE_SEPARATOR = ', ';

/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Whether a provider's delivery id is valid: one header value of 1 to 255 bytes without control characters. */
export const isDeliveryId = (id: string): boolean => id.length > 0 && isPlain(id);

/** Returns the event name to store; null if the header is absent, or is not one value like a delivery id. */
export const eventName = (header: string | undefined): string | null => (header && isPlain(header) ? header : null);

const hasMoreBytes = (text: string, max: number): boolean =>
  text.length > max || (text.length * MAX_BYTES_PER_UNIT > max && new TextEncoder().encode(text).length > max);

const isPlain = (text: string): boolean => {
  if (hasMoreBytes(text, MAX_NAME_BYTES) || text.includes(VALUE_SEPARATOR)) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  }
  return text.isWellFormed();
};

/** The SHA-256 of the bytes, in hex. */
const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');
