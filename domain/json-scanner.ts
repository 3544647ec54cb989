export type JsonVerdict = 'json' | 'not_json' | 'too_deep';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** A fault is the complement (~) of its offset, which is negative. */
const VALID = 0;
const TOO_DEEP = 1;

const literals = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];

/** RFC 8259 (UTF-8, no byte order mark), nested at most `maxDepth` levels. Reads once, without recursion, and builds no values. */
export const scanJson = (bytes: Uint8Array, maxDepth = MAX_SCANNED_DEPTH): JsonVerdict => {
  const result = scan(bytes, maxDepth);
  if (result < 0) return 'not_json';
  return result === TOO_DEEP ? 'too_deep' : 'json';
};

/** The offset of the first byte that does not belong to a JSON text. */
export const jsonFaultAt = (bytes: Uint8Array): number | null => {
  const result = scan(bytes, MAX_SCANNED_DEPTH);
  return result < 0 ? ~result : null;
};

const MAX_SCANNED_DEPTH = 64;

const scan = (bytes: Uint8Array, maxDepth: number): number => {
  const inObject = new Uint8Array(maxDepth + 1);
  let depth = 0;
  let at = skipWhitespace(bytes, 0);
  for (;;) {
    const opener = bytes[at];
    if (opener === OPEN_ARRAY || opener === OPEN_OBJECT) {
      if (depth === maxDepth) return TOO_DEEP;
      const isObject = opener === OPEN_OBJECT;
      inObject[++depth] = isObject ? 1 : 0;
      at = skipWhitespace(bytes, at + 1);
      if (bytes[at] === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) at = skipClosing(bytes, at, inObject, depth--);
      else {
        if (isObject) at = skipName(bytes, at);
        if (at < 0) return at;
        continue;
      }
    } else at = skipScalar(bytes, at);
    // A value ends here. Skip the closing brackets after it, up to the next value or to the end of the text.
    for (;;) {
      if (at < 0) return at;
      at = skipWhitespace(bytes, at);
      if (depth === 0) return at === bytes.length ? VALID : ~at;
      if (bytes[at] === COMMA) break;
      at = skipClosing(bytes, at, inObject, depth--);
    }
    at = skipWhitespace(bytes, at + 1);
    if (inObject[depth] === 1) at = skipName(bytes, at);
    if (at < 0) return at;
  }
};

// The following functions skip one part of a JSON text. Each returns the offset after the part or, if the part is
// malformed, the complement of the offset at which it is.

const skipWhitespace = (bytes: Uint8Array, from: number): number => {
  let at = from;
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at++;
  return at;
};

const skipClosing = (bytes: Uint8Array, at: number, inObject: Uint8Array, depth: number): number =>
  bytes[at] === (inObject[depth] === 1 ? CLOSE_OBJECT : CLOSE_ARRAY) ? at + 1 : ~at;

/** Skips the colon after the name, too. */
const skipName = (bytes: Uint8Array, at: number): number => {
  const end = bytes[at] === QUOTE ? skipString(bytes, at + 1) : ~at;
  if (end < 0) return end;
  const colon = skipWhitespace(bytes, end);
  return bytes[colon] === COLON ? skipWhitespace(bytes, colon + 1) : ~colon;
};

const skipScalar = (bytes: Uint8Array, at: number): number => {
  const byte = bytes[at] ?? 0;
  if (byte === QUOTE) return skipString(bytes, at + 1);
  if (byte === MINUS || isDigit(byte)) return skipNumber(bytes, at);
  const literal = literals.find((word) => word.every((letter, index) => bytes[at + index] === letter));
  return literal ? at + literal.length : ~at;
};

/** 1 for bytes that need no escape in a JSON string (ASCII except control characters, quote and backslash). */
const unescapedAscii = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
);

const skipString = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (at >= 0 && at < bytes.length) {
    while (unescapedAscii[bytes[at]!] === 1) at++;
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) return ~at;
    at = byte === BACKSLASH ? skipEscape(bytes, at + 1) : skipMultibyte(bytes, at, byte);
  }
  return at < 0 ? at : ~at;
};

const escapes = new Set(Buffer.from('"\\/bfnrt'));

const skipEscape = (bytes: Uint8Array, at: number): number => {
  const byte = bytes[at] ?? 0;
  if (escapes.has(byte)) return at + 1;
  if (byte !== 0x75) return ~at;
  for (let index = at + 1; index <= at + 4; index++) if (!isHexDigit(bytes[index] ?? 0)) return ~index;
  return at + 5;
};

/** RFC 3629: the shortest form, no surrogates, nothing above U+10FFFF. */
const skipMultibyte = (bytes: Uint8Array, at: number, lead: number): number => {
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return ~at;
  const second = bytes[at + 1] ?? 0;
  const min = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const max = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < min || second > max) return ~at;
  for (let index = at + 2; index < at + length; index++) if (((bytes[index] ?? 0) & 0xc0) !== 0x80) return ~at;
  return at + length;
};

const skipNumber = (bytes: Uint8Array, from: number): number => {
  let at = bytes[from] === MINUS ? from + 1 : from;
  at = bytes[at] === ZERO ? at + 1 : skipDigits(bytes, at);
  if (at >= 0 && bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (at < 0 || (bytes[at] !== 0x65 && bytes[at] !== 0x45)) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, sign === MINUS || sign === 0x2b ? at + 2 : at + 1);
};

const skipDigits = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (isDigit(bytes[at] ?? 0)) at++;
  return at === from ? ~at : at;
};

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= 0x39;
const isHexDigit = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
