import { foreignCharsets, inUtf8, parseContentType } from '../content-type.ts';
import { shownValue } from '../shown-value.ts';
import { type Media, mediaOfType } from './body-inspection.ts';

/** `charset` is null if the body is UTF-8, as far as its content type says. */
export type BodyType = { readonly media: Media; readonly charset: string | null };
/** Why a body cannot be read, and what its sender can do. */
export type TypeFault = { readonly fault: string };

const EXPECTED = 'application/json, another type that ends in +json, or application/x-www-form-urlencoded';

const isDecodable = (charset: string): boolean => {
  try {
    return new TextDecoder(charset).encoding !== '';
  } catch {
    return false;
  }
};

/** A form is never in UTF-16, because the bytes of a form are ASCII. */
const isSupported = (media: Media, charset: string): boolean => isDecodable(charset) && !(media === 'form' && isUtf16(charset));
const isUtf16 = (charset: string): boolean => new TextDecoder(charset).encoding.startsWith('utf-16');

const unsupported = (charset: string): TypeFault => ({
  fault: `The charset ${shownValue(charset)} of the body is not supported for such a body: send it in UTF-8`,
});

export const bodyTypeOf = (contentType: string | undefined): BodyType | TypeFault => {
  const plain = mediaOfType(contentType ?? '');
  if (plain) return { media: plain, charset: null };
  const parsed = parseContentType(contentType ?? '');
  const media = mediaOfType(parsed.type);
  if (!media) return { fault: `The content type is ${shownValue(contentType)}: send ${EXPECTED}` };
  const [charset, other] = foreignCharsets(parsed);
  if (charset === undefined) return { media, charset: null };
  if (other !== undefined) return { fault: `The content type ${shownValue(contentType)} names two charsets: send the body in UTF-8` };
  if (isSupported(media, charset)) return { media, charset };
  return unsupported(charset);
};

/**
 * For JSON whose content type names no charset: its first two characters are ASCII, or one is a byte order mark. Null for UTF-8, or if the
 * bytes are not JSON in any charset.
 */
export const impliedCharset = ([first, second, third, fourth]: Uint8Array): 'utf-16le' | 'utf-16be' | 'utf-32' | null => {
  if (first === undefined || second === undefined) return null;
  if (first !== 0 && second !== 0 && first < 0xfe) return null;
  if ((first === 0 && second === 0) || (third === 0 && (second === 0 || fourth === 0))) return 'utf-32';
  if (first >= 0xfe) return first === 0xff ? 'utf-16le' : 'utf-16be';
  if (second === 0) return fourth === 0 || third === undefined ? 'utf-16le' : null;
  return third === 0 || third === undefined ? 'utf-16be' : null;
};

/** The byte order of UTF-16 that begins with an ASCII character; null if unclear. */
const byteOrder = ([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | null => {
  if (second === 0) return 'utf-16le';
  return first === 0 ? 'utf-16be' : null;
};

/** Valid UTF-8 counts as UTF-8, because many senders name a wrong charset; but almost all bytes of UTF-16 would be valid. */
const decode = (charset: string, bytes: Uint8Array): string => {
  const implied = isUtf16(charset) ? (impliedCharset(bytes) ?? byteOrder(bytes)) : null;
  if (implied) return new TextDecoder(implied, { fatal: true }).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  }
};

const formBytes = (text: string): Uint8Array =>
  Buffer.from(
    text.replaceAll('+', ' ').replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

const decodeForm = (charset: string, bytes: Uint8Array): string => {
  const fields = Buffer.from(bytes)
    .toString('latin1')
    .split('&')
    .filter((field) => field !== '');
  const pairs = fields.map((field): [string, string] => {
    const [name = '', ...value] = field.split('=');
    return [decode(charset, formBytes(name)), decode(charset, formBytes(value.join('=')))];
  });
  return new URLSearchParams(pairs).toString();
};

/** Null if the bytes are not valid in this charset. */
export const bodyInUtf8 = (media: Media, charset: string, bytes: Uint8Array): Uint8Array | null => {
  try {
    return new TextEncoder().encode(media === 'json' ? decode(charset, bytes) : decodeForm(charset, bytes));
  } catch {
    return null;
  }
};

export const typeInUtf8 = (contentType: string): string => inUtf8(parseContentType(contentType));
