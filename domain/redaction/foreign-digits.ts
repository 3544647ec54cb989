import { MIN_CARD_DIGITS } from './payment-card.ts';

/** The zeros of the scripts in use, and in full width. The other nine digits follow the zero. */
export const ZEROS = [
  ...[0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090],
  ...[0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50],
  ...[0xabf0, 0xff10],
] as const;

/** The UTF-8 bytes as one number; if there are four, only the first three. */
const keyOf = (character: string): number => {
  const [first = 0, second = 0, third = 0] = Buffer.from(character);
  return (first << 16) | (second << 8) | (first < 0xe0 ? 0 : third);
};

/** What can be between the digits of a number: invisible characters, blanks, dashes, marks. */
const BETWEEN = '\u00a0\u00ad\u034f\u20e3\u2212\u3000\u30fc\ufe0f\ufe58\ufe63\ufeff\uff0d';
const DIGIT_KEYS: ReadonlySet<number> = new Set(
  ZEROS.flatMap((zero) => Array.from({ length: 10 }, (_, value) => keyOf(String.fromCodePoint(zero + value)))),
);
const BETWEEN_KEYS: ReadonlySet<number> = new Set([...BETWEEN].map(keyOf));
/** For each byte, whether such a character, general punctuation or a mark can begin with it. */
const MAY_MATTER = new Uint8Array(256);
for (const key of [...DIGIT_KEYS, ...BETWEEN_KEYS]) MAY_MATTER[key >> 16] = 1;
for (const first of [0xcc, 0xe2, 0xf0]) MAY_MATTER[first] = 1;

/** The first three bytes of the digits among the mathematical letters. */
const MATHEMATICAL = 0xf09d9f;

/** UTF-8 bytes: general punctuation (e2 80 to e2 81) has dashes, blanks and invisible characters; most marks begin with cc. */
const isBetween = (first: number, key: number): boolean => key >> 9 === 0xe280 >> 1 || first === 0xcc || BETWEEN_KEYS.has(key);

/** At least as many digits as a card number, some not ASCII or separated by characters that are not. */
export const hasForeignNumber = (bytes: Uint8Array): boolean => {
  let digits = 0;
  for (let at = 0; at < bytes.length; at++) {
    const first = bytes[at]!;
    if (first < 0x80) {
      if (first >= 0x30 && first <= 0x39) digits++;
      else if (first !== 0x20 && first !== 0x2d) digits = 0;
    } else if (MAY_MATTER[first] === 0) {
      if (first >= 0xc2) digits = 0;
    } else {
      const key = (first << 16) | ((bytes[at + 1] ?? 0) << 8) | (first < 0xe0 ? 0 : (bytes[at + 2] ?? 0));
      if (DIGIT_KEYS.has(key) || key === MATHEMATICAL) digits++;
      else if (!isBetween(first, key)) digits = 0;
    }
    if (digits >= MIN_CARD_DIGITS) return true;
  }
  return false;
};
