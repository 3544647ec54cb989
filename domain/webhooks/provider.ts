import { hash } from 'node:crypto';
import { type JsonVerdict, scanJson } from '../json-scanner.ts';
import { payloadOf } from './form-payload.ts';
import { type SignatureScheme, type SignedProvider, signatureSchemes } from './signature.ts';

/** Where a provider names the delivery, so that it is seen once, and its event. */
export type ProviderHeaders = { readonly delivery: string; readonly event: string };

const naming: Readonly<Record<SignedProvider, ProviderHeaders>> = {
  github: { delivery: 'x-github-delivery', event: 'x-github-event' },
};

/** How a provider's deliveries are verified and named; that of `github` where there is none, for the same work to be done. */
export const presetOf = (provider: string | undefined): { scheme: SignatureScheme; naming: ProviderHeaders } => {
  const known = (provider ?? '') in signatureSchemes ? (provider as SignedProvider) : 'github';
  return { scheme: signatureSchemes[known], naming: naming[known] };
};

export type Media = 'json' | 'form';

const types: Readonly<Record<string, Media>> = { 'application/json': 'json', 'application/x-www-form-urlencoded': 'form' };
const withCharset = /^([\w./+-]+)\s*;\s*charset="?utf-?8"?\s*$/i;

/** What a content type says of the body: JSON, a form, or (null) nothing that a delivery may be. UTF-8 only. */
export const mediaOf = (contentType: string): Media | null =>
  types[contentType] ?? types[(withCharset.exec(contentType)?.[1] ?? contentType).trim().toLowerCase()] ?? null;

/** Whether the body, or the `payload` field of a form, is JSON of allowed depth. */
export const jsonOf = (media: Media, body: Uint8Array): JsonVerdict => {
  const json = media === 'json' ? body : payloadOf(body);
  return json ? scanJson(json) : 'not_json';
};

/** What a body's bytes are found to be. `sha256`: of the bytes, hex. */
export type Contents = { readonly sha256: string; readonly json: JsonVerdict };

/** Reads every byte of a body. */
export const inspectBody = (media: Media, body: Uint8Array): Contents => ({ sha256: sha256Of(body), json: jsonOf(media, body) });

const MAX_NAME_BYTES = 255;

/** Header fields that were sent twice come as one, with this between. */
const TWICE = ', ';

/** Whether a provider's delivery id can name a delivery: 1 to 255 bytes, no control characters, and one. */
export const isDeliveryId = (id: string): boolean => id.length > 0 && isPlain(id) && !id.includes(TWICE);

/** The event's name as it is kept; null where there is none, or none that is fit to be shown. */
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
