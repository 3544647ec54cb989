import { MAX_CARD_DIGITS, MIN_CARD_DIGITS } from './payment-card.ts';

const isDigit = (byte = 0): boolean => byte >= 0x30 && byte <= 0x39;
const isLetter = (byte = 0): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
const isSeparator = (byte = 0): boolean => byte === 0x20 || byte === 0x2d;
/** A digit, a space, a hyphen, or a part of a no-break space (c2 a0): numbers can be written in groups. */
const isInNumber = (byte = 0): boolean => isDigit(byte) || isSeparator(byte) || byte === 0xc2 || byte === 0xa0;

/** Digits of a JSON escape, such as `\u0430`, that can be directly before a number. */
const ESCAPE_DIGITS = 4;

/** Whether the digits are as many as those of a card number. A space or a hyphen may separate groups. */
export const hasCardLength = (bytes: Uint8Array): boolean => {
  // In steps of MIN_CARD_DIGITS bytes, every number with at least MIN_CARD_DIGITS digits has a byte at one of the
  // positions.
  for (let at = MIN_CARD_DIGITS - 1; at < bytes.length; at += MIN_CARD_DIGITS) {
    if (!isInNumber(bytes[at])) continue;
    let start = at;
    while (isInNumber(bytes[start - 1])) start--;
    let digits = 0;
    let end = start;
    for (; isInNumber(bytes[end]); end++) if (isDigit(bytes[end])) digits++;
    if (digits >= MIN_CARD_DIGITS && (digits <= MAX_CARD_DIGITS + ESCAPE_DIGITS || end - start > digits)) return true;
    at = Math.max(at, end - MIN_CARD_DIGITS);
  }
  return false;
};

const MAX_USER_LENGTH = 520;

/** Whether a URL has a user name. `start` is where `://` begins, and `length` its bytes in the text (5 if the slashes are escaped). */
export const hasUserAfter =
  (length: number) =>
  (bytes: Uint8Array, start: number): boolean => {
    let colon = false;
    for (let at = start + length; at < start + MAX_USER_LENGTH; at++) {
      const byte = bytes[at] ?? 0x22;
      if (byte === 0x40) return colon;
      if (byte === 0x3a) colon = true;
      else if (byte <= 0x22 || byte === 0x2f || byte === 0x5c || byte === 0x3f || byte === 0x23) return false;
    }
    return false;
  };

const MAX_ALT_LENGTH = 202;
const MAX_URL_LENGTH = 500;

const hasQuery = (bytes: Uint8Array, start: number): boolean => {
  for (let at = start; at < start + MAX_URL_LENGTH && at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0x3f || byte === 0x7b || byte === 0x24 || byte === 0x3c || byte === 0x5b || byte === 0x25) return true;
    if (byte === 0x29 || byte === 0x20) return false;
  }
  return false;
};

/** Whether `](htt` at `start` belongs to a Markdown image whose URL has a query or a placeholder: it can send data to another server. */
export const isImageWithQuery = (bytes: Uint8Array, start: number): boolean => {
  for (let at = start - 1; at > start - MAX_ALT_LENGTH && at > 0; at--)
    if (bytes[at] === 0x5b && bytes[at - 1] === 0x21) return hasQuery(bytes, start + 2);
  return false;
};

/** Whether three more percent-encoded characters follow the one at `start`. */
export const hasFourEscapes = (bytes: Uint8Array, start: number): boolean => [3, 6, 9].every((offset) => bytes[start + offset] === 0x25);

export const hasTwoEntities = (bytes: Uint8Array, start: number): boolean => {
  for (let at = start + 3; at < start + 8; at++) if (bytes[at] === 0x3b) return bytes[at + 1] === 0x26 || bytes[at + 1] === 0x5c;
  return false;
};

/** JSON writers often escape markup, quotes, slashes and control characters: not suspicious. */
const USUAL_ESCAPES = /^00(?:[01]|2[26f7]|3[ce]|5c|7f)/i;
/** Escapes of characters that `hasUnusualText` finds, and of those in the words that the filter searches for. */
const HIDDEN_ESCAPES = /^(?:00ad|20(?:0[b-f]|2[a-e]|6)|feff|ff[2-5]|db40|d835|0[34]|5ffd|65e0|7121|5fd8|bb34|c78a|062a|0648|0928)/i;
/** The first two hex digits of what HIDDEN_ESCAPES matches. */
export const ESCAPE_STARTS = ['00', '20', 'fe', 'ff', 'db', 'd8', '03', '04', '5f', '65', '71', 'bb', 'c7', '06', '09'];

/** An invisible character, or a letter, which JSON writers do not escape. */
export const hidesCharacter = (bytes: Uint8Array, at: number): boolean => {
  const digits = String.fromCharCode(bytes[at + 2] ?? 0, bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes[at + 5] ?? 0);
  return digits.startsWith('00') && Number.parseInt(digits, 16) < 0x80 ? !USUAL_ESCAPES.test(digits) : HIDDEN_ESCAPES.test(digits);
};

const isBetween = (byte: number, from: number, to: number): boolean => byte >= from && byte <= to;

const isUnusualAt = (bytes: Uint8Array, at: number): boolean => {
  const first = bytes[at]!;
  const second = bytes[at + 1] ?? 0;
  const third = bytes[at + 2] ?? 0;
  if (first === 0xe2 && second === 0x80)
    return (
      third === 0x8b ||
      isBetween(third, 0xaa, 0xae) ||
      (isBetween(third, 0x8c, 0x8f) && (isLetter(bytes[at - 1]) || isLetter(bytes[at + 3])))
    );
  if (first === 0xe2) return second === 0x81 && third >= 0xa0;
  if (first === 0xef) return (second === 0xbb && third === 0xbf) || ((second === 0xbc || second === 0xbd) && bytes[at + 3] === 0xef);
  if (first === 0xf3) return second === 0xa0;
  if (first === 0xf0) return second === 0x9d && isBetween(third, 0x90, 0x9f);
  if (first === 0xc2) return second === 0xad && (isLetter(bytes[at - 1]) || isLetter(third));
  return (isBetween(first, 0xce, 0xd1) || isBetween(first, 0xc9, 0xca) || first === 0xd5) && isLetter(bytes[at - 1]) && isLetter(third);
};

/** Characters that are invisible, that change the direction of text, or that look like Latin letters next to some. */
export const hasUnusualText = (bytes: Uint8Array): boolean => {
  for (let at = 0; at < bytes.length; at++) if (bytes[at]! >= 0xc2 && isUnusualAt(bytes, at)) return true;
  return false;
};
