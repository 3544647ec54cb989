import type { InspectedBody } from '../bodies/body-inspection.ts';
import { firstHeader, type SignedRequest } from './conventions/signature-scheme.ts';
import type { ValueSource } from './conventions/value-source.ts';

/** The identity as received: each part can be missing or malformed. */
export type DeliveryIdentity = { readonly delivery: string | undefined; readonly event: string | undefined };

const MAX_NAME_BYTES = 255;
/** The HTTP server joins the values of a header that occurs several times with this separator. */
const VALUE_SEPARATOR = ', ';
/** Replaces the values of a header that has several: it is neither a valid id nor a valid name, so the request is refused. */
const SEVERAL = '\n';
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Without an inspected body, only headers are read. */
export const valueFrom = (
  { headers, pointers, orDigest, shared }: ValueSource,
  request: Pick<SignedRequest, 'header'>,
  body?: InspectedBody,
): string | undefined => {
  const value = headers.length === 1 ? request.header(headers[0]!) : firstHeader(request, headers);
  if (value?.includes(VALUE_SEPARATOR)) return SEVERAL;
  if (value !== undefined && shared !== undefined && body)
    return firstHeader(
      request,
      headers.filter((name) => name !== shared),
    )
      ? value
      : `${value}-${body.sha256}`;
  if (value !== undefined || !body) return value;
  const pointer = pointers.find((each) => body.fields[each]);
  if (pointer !== undefined) return body.fields[pointer];
  return orDigest && body.sha256;
};

/** One value of 1 to 255 bytes without control characters. */
export const isDeliveryId = (id: string): boolean => id.length > 0 && isPlain(id);

/** Null if the name is missing, or breaks the rules that also apply to delivery ids. */
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
