import { hash } from 'node:crypto';
import { type JsonVerdict, scanJson } from '../json-scanner.ts';
import { payloadOf } from './form-payload.ts';
import { type SignatureScheme, type SignedProvider, signatureSchemes } from './signature.ts';

/** The headers that hold a provider's delivery id and event name. */
export type ProviderHeaders = { readonly delivery: string; readonly event: string };

const PROVIDER_HEADERS: Readonly<Record<SignedProvider, ProviderHeaders>> = {
  github: { delivery: 'x-github-delivery', event: 'x-github-event' },
};

/**
 * How a provider signs and names its deliveries. Returns the preset of `github` for an unknown integration, so that it
 * takes equal time.
 */
export const presetOf = (provider: string | undefined): { scheme: SignatureScheme; headers: ProviderHeaders } => {
  const known = (provider ?? '') in signatureSchemes ? (provider as SignedProvider) : 'github';
  return { scheme: signatureSchemes[known], headers: PROVIDER_HEADERS[known] };
};

export type Media = 'json' | 'form';

const MEDIA_TYPES: Readonly<Record<string, Media>> = { 'application/json': 'json', 'application/x-www-form-urlencoded': 'form' };
const WITH_UTF8_CHARSET = /^([\w./+-]+)\s*;\s*charset="?utf-?8"?\s*$/i;

/** The kind of body that a content type declares; null if deliveries may not have it. UTF-8 only. */
export const mediaOf = (contentType: string): Media | null =>
  MEDIA_TYPES[contentType] ?? MEDIA_TYPES[(WITH_UTF8_CHARSET.exec(contentType)?.[1] ?? contentType).trim().toLowerCase()] ?? null;

/** Checks whether the body, or the `payload` field of a form, is JSON within the depth limit. */
export const jsonOf = (media: Media, body: Uint8Array): JsonVerdict => {
  const json = media === 'json' ? body : payloadOf(body);
  return json ? scanJson(json) : 'not_json';
};

/** `sha256`: digest of the body, hex. */
export type InspectedBody = { readonly sha256: string; readonly json: JsonVerdict };

/** Computes the digest and checks the JSON. Takes time in proportion to the body. */
export const inspectBody = (media: Media, body: Uint8Array): InspectedBody => ({ sha256: sha256Of(body), json: jsonOf(media, body) });

const MAX_NAME_BYTES = 255;

/** Separates the values of a header that was sent twice. */
const VALUE_SEPARATOR = ', ';

/** Whether a provider's delivery id is valid: a single value of 1 to 255 bytes without control characters. */
export const isDeliveryId = (id: string): boolean => id.length > 0 && isPlain(id) && !id.includes(VALUE_SEPARATOR);

/** The event name as it is stored; null if it is absent, too long or contains control characters. */
export const eventName = (header: string | undefined): string | null => (header && isPlain(header) ? header : null);

const isPlain = (text: string): boolean => {
  if (text.length > MAX_NAME_BYTES || new TextEncoder().encode(text).length > MAX_NAME_BYTES) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  }
  return text.isWellFormed();
};

/** SHA-256 of the bytes, hex. */
export const sha256Of = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');
