/**
 * Digits of every script, and full-width characters, are ASCII; invisible characters are gone. `starts` and `ends` map each character to
 * the original; null if nothing changed.
 */
export type PlainText = {
  readonly original: string;
  readonly text: string;
  readonly starts: Uint32Array | null;
  readonly ends: Uint32Array | null;
};

const NOT_ASCII = /[^\p{ASCII}]/u;
const DIGIT = /\p{Nd}/u;
const INVISIBLE = /\p{DI}/u;
const MARK = /\p{M}/u;
/** The characters that are replaced or left out. */
const REPLACED =
  /(?!\p{ASCII})[\p{Nd}\p{DI}\p{Zs}\p{Pd}\uff08-\uff0b\uff0d\uff0e\uff20-\uff3a\uff3f\uff41-\uff5a\u2212]|\p{Nd}(?:\p{M}|\u30fc)/u;

/** In Unicode, each script has its ten digits in order. */
const asciiDigit = (character: string): string => {
  const code = character.codePointAt(0)!;
  let first = code;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
};

const FULL_WIDTH = /[\uff08-\uff0b\uff0d\uff0e\uff20-\uff3a\uff3f\uff41-\uff5a]/;
const FULL_WIDTH_OFFSET = 0xfee0;
/** A sign for long vowels, which looks like a dash, and is written as one between digits. */
const LONG_VOWEL = '\u30fc';

/** For a character that is not ASCII. `before`: the character before it in the result. */
const plainCharacter = (character: string, before: string): string => {
  if (DIGIT.test(character)) return asciiDigit(character);
  if (INVISIBLE.test(character)) return '';
  if (FULL_WIDTH.test(character)) return String.fromCharCode(character.charCodeAt(0) - FULL_WIDTH_OFFSET);
  if (/\p{Zs}/u.test(character)) return ' ';
  if (/[\p{Pd}\u2212]/u.test(character)) return '-';
  const isAfterDigit = before >= '0' && before <= '9';
  if (isAfterDigit && character === LONG_VOWEL) return '-';
  return isAfterDigit && MARK.test(character) ? '' : character;
};

/** For most texts, the text itself. */
export const plainTextOf = (original: string): PlainText => {
  if (!NOT_ASCII.test(original) || !REPLACED.test(original)) return { original, text: original, starts: null, ends: null };
  const [starts, ends] = [new Uint32Array(original.length), new Uint32Array(original.length)];
  let text = '';
  let before = '';
  let at = 0;
  for (const character of original) {
    const plain = character < '\x80' ? character : plainCharacter(character, before);
    for (let index = 0; index < plain.length; index++) {
      starts[text.length + index] = at + (plain.length === character.length ? index : 0);
      ends[text.length + index] = plain.length === character.length ? at + index + 1 : at + character.length;
    }
    text += plain;
    before = plain || before;
    at += character.length;
  }
  return { original, text, starts, ends };
};

/** Returns the span in the original text. */
export const placeIn = ({ starts, ends }: PlainText, from: number, to: number): { readonly from: number; readonly to: number } => ({
  from: starts ? starts[from]! : from,
  to: ends ? ends[to - 1]! : to,
});
