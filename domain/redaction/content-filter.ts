import {
  ESCAPE_STARTS,
  hasCardLength,
  hasFourEscapes,
  hasTwoEntities,
  hasUnusualText,
  hasUserAfter,
  hidesCharacter,
  isImageWithQuery,
} from './byte-checks.ts';
import { type ByteSignal, createByteFilter } from './byte-filter.ts';
import { SECRET_LITERALS, type SecretLiteral } from './find-secrets.ts';
import { hasForeignNumber, ZEROS } from './foreign-digits.ts';
import { INJECTION_LITERALS } from './injection-literals.ts';

/** Bits in the result of `possibleContent`. */
export const MAY_HAVE_SECRET = 1;
export const MAY_HAVE_CARD = 2;
export const MAY_HAVE_INJECTION = 4;
const NOT_ASCII = 8;
const ALL = MAY_HAVE_SECRET | MAY_HAVE_CARD | MAY_HAVE_INJECTION;

const codes = (characters: string): number[] => [...characters].map((character) => character.charCodeAt(0));

/** Digits and characters that are often written in a letter's place. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { a: '4@', e: '3', i: '1!', o: '0', s: '5$', t: '7' };
/** Also found with look-alikes (see LOOK_ALIKES) for some letters. */
const OFTEN_DISGUISED = ['ignor', 'disregard', 'instruct', 'previous', 'prompt', 'override'];

const exact = (flag: number, text: string): ByteSignal => ({ flag, sequence: [...Buffer.from(text)].map((byte) => [byte]) });
const anyCase = (flag: number, text: string, alikes = false): ByteSignal => ({
  flag,
  sequence: [...Buffer.from(text)].map((byte) => {
    const one = String.fromCharCode(byte);
    return byte < 0x80 ? codes(one.toLowerCase() + one.toUpperCase() + (alikes ? (LOOK_ALIKES[one] ?? '') : '')) : [byte];
  }),
});

const TOKEN = codes('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-');

/** After a literal of only four characters, requires one that a token can contain, so that fewer texts without a secret match. */
const secretSignal = ({ text, ignoresCase }: SecretLiteral): ByteSignal => {
  if (ignoresCase) return anyCase(MAY_HAVE_SECRET, text);
  const { sequence } = exact(MAY_HAVE_SECRET, text);
  return { flag: MAY_HAVE_SECRET, sequence: text.length === 4 ? [...sequence, TOKEN] : sequence };
};

/** First letters of words of prompt injections, separated to evade a filter, such as `i-g-n-o`. */
const SPACED = ['igno', 'syst', 'prev', 'disr', 'forg', 'over', 'inst', 'reve'].flatMap((word) =>
  [...' .-_*'].map((separator) => [...word].join(separator)),
);

const INJECTION_SIGNALS: readonly Omit<ByteSignal, 'flag'>[] = [
  { sequence: [codes(' "\'([<>#*:;,.\n/=n'), codes('aA'), codes('iI'), codes(" s.,:;!'")] },
  { sequence: [...codes('](htt').map((code) => [code])], confirm: isImageWithQuery },
  { sequence: [codes('%'), codes('4567'), codes('0123456789abcdefABCDEF'), codes('%'), codes('234567')], confirm: hasFourEscapes },
  { sequence: [codes('&6'), codes('#'), codes('19x'), codes('01234679'), codes('0123456789abcdefABCDEF;')], confirm: hasTwoEntities },
];

const isDigit = (byte = 0): boolean => byte >= 0x30 && byte <= 0x39;

/** JSON escapes of digits that are not ASCII, and of blanks and dashes between two digits. */
const CARD_SIGNALS: readonly ByteSignal[] = [
  ...ZEROS.map((zero) => {
    const hex = zero.toString(16).padStart(4, '0');
    const { sequence } = anyCase(MAY_HAVE_CARD, `\\u${hex.slice(0, 3)}`);
    return { flag: MAY_HAVE_CARD, sequence: [...sequence, codes(hex.endsWith('0') ? '0123456789' : '6789abcdefABCDEF')] };
  }),
  ...['\\u00a0', '\\u200', '\\u201', '\\u202', '\\u205', '\\u206', '\\u2212', '\\u3000', '\\ufe0f', '\\uff0d'].map((text) => ({
    ...anyCase(MAY_HAVE_CARD, text),
    confirm: (bytes: Uint8Array, at: number) => isDigit(bytes[at - 1]) && (isDigit(bytes[at + 6]) || bytes[at + 6] === 0x5c),
  })),
];

const signalsIn = createByteFilter(
  [
    ...SECRET_LITERALS.map(secretSignal),
    { ...exact(MAY_HAVE_SECRET, '://'), confirm: hasUserAfter(3) },
    { ...exact(MAY_HAVE_SECRET, ':\\/\\/'), confirm: hasUserAfter(5) },
    ...INJECTION_LITERALS.words.map((text) => anyCase(MAY_HAVE_INJECTION, text)),
    ...OFTEN_DISGUISED.map((text) => anyCase(MAY_HAVE_INJECTION, text, true)),
    ...SPACED.map((text) => anyCase(MAY_HAVE_INJECTION, text)),
    ...INJECTION_LITERALS.exact.map((text) => exact(MAY_HAVE_INJECTION, text)),
    ...INJECTION_SIGNALS.map((signal) => ({ flag: MAY_HAVE_INJECTION, ...signal })),
    ...CARD_SIGNALS,
    ...ESCAPE_STARTS.map((digits) => ({ ...anyCase(ALL, `\\u${digits}`), confirm: hidesCharacter })),
  ],
  NOT_ASCII,
);

/**
 * Returns as bits what a text may contain: secrets, card numbers, instructions to a language model. Takes a few microseconds for 2 KB. A
 * text that is not JSON must begin and end with a space.
 */
export const possibleContent = (bytes: Uint8Array): number => {
  const signals = signalsIn(bytes);
  const isForeign = (signals & NOT_ASCII) !== 0;
  const card = hasCardLength(bytes) || (isForeign && hasForeignNumber(bytes)) ? MAY_HAVE_CARD : 0;
  const unusual = isForeign && (signals & MAY_HAVE_INJECTION) === 0 && hasUnusualText(bytes) ? MAY_HAVE_INJECTION : 0;
  return (signals & ALL) | card | unusual;
};
