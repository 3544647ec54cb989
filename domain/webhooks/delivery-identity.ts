import type { InspectedBody } from './body-inspection.ts';
import { firstHeader, type SignedRequest } from './conventions/signature-scheme.ts';
import type { ValueSource } from './conventions/value-source.ts';

/** The delivery id and the event name of a request, as received: each can be missing or malformed. */
export type DeliveryIdentity = { readonly delivery: string | undefined; readonly event: string | undefined };

const MAX_NAME_BYTES = 255;
/** The text with which the HTTP server joins the values of a header that occurs several times. */
const VALUE_SEPARATOR = ', ';
/** The value for a header with several values. It is neither a valid id nor a valid name, so the request is refused. */
const SEVERAL = '\n';
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Returns the value at the place that a source describes. Without an inspected body, only headers are read. */
export const valueFrom = (
  { headers, pointers, orDigest, shared }: ValueSource,
  request: Pick<SignedRequest, 'header'>,
  body?: InspectedBody,
): string | undefined => {
  const value = headers.length === 1 ? request.header(headers[0]!) : firstHeader(request, headers);
  if (value?.includes(VALUE_SEPARATOR)) return SEVERAL;
  if (value !== undefined && shared !== undefined && body)
    return firstHeader(request, headers.slice(0, -1)) ? value : `${value}-${body.sha256}`;
  if (value !== undefined || !body) return value;
  const pointer = pointers.find((each) => body.fields[each]);
  if (pointer !== undefined) return body.fields[pointer];
  return orDigest && body.sha256;
};

/** Returns whether the delivery id of a provider is valid: one value of 1 to 255 bytes without control characters. */
export const isDeliveryId = (id: string): boolean => id.length > 0 && isPlain(id);

/** Returns the event name to store; null if it is missing, or breaks the rules that also apply to delivery ids. */
export const eventName = (name: string | undefined): string | null => (name && isPlain(name) ? name : null);

const hasMoreBytes = (text: string, max: number): boolean =>
  text.length > max || (text.length * MAX_BYTES_PER_UNIT > max && new TextEncoder().encode(text).length > max);

const isPlain = (text: string): boolean => {
  if (hasMoreBytes(text, MAX_NAME_BYTES)) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  }
  return text.isWellFormed();
};
