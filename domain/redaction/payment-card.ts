import { type PlainText, placeIn } from './plain-text.ts';
import type { Span } from './span.ts';
import { endsInKey, startsInKey, textAfter, textBefore } from './word-edge.ts';

/** First digits and possible lengths of each card scheme's numbers. */
const SCHEMES: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|65|64[4-9])/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^(?:30[0-5]|309|36|38|39)/, [14]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:50|5[6-9]|6304|6759|676[1-3])/, [16, 18, 19]],
  [/^220[0-4]/, [16]],
];

export const MIN_CARD_DIGITS = 14;
export const MAX_CARD_DIGITS = 19;

/** The Luhn check digit. */
export const hasLuhnDigit = (digits: string): boolean => {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 0x30;
    const weighted = index % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
};

const isCardNumber = (digits: string): boolean =>
  !/^(\d)\1+$/.test(digits) &&
  SCHEMES.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits)) &&
  hasLuhnDigit(digits);

/** Without separators, or grouped as on a card. */
const CANDIDATE = /(?<!\d)(?:\d{4}([ \u00a0-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?|\d{4}([ \u00a0-])\d{6}\2\d{4,5}|\d{14,19})(?!\d)/g;
const DIGIT_BEFORE = /(?:\p{Nd}[.\uff0e]|_)$/u;
const DIGIT_AFTER = /^(?:[._\uff0e]\p{Nd}|_)/u;

const isSeparate = (text: string, from: number, to: number): boolean => {
  const [before, after] = [textBefore(text, from), textAfter(text, to)];
  return !DIGIT_BEFORE.test(before) && !DIGIT_AFTER.test(after) && !endsInKey(before, true) && !startsInKey(after, true);
};

/** Sixteen digits in four groups. */
const FOUR_GROUPS_LENGTH = 19;

const cardAt = (plain: PlainText, start: number, length: number): Span | null => {
  if (!isCardNumber(plain.text.slice(start, start + length).replace(/\D/g, ''))) return null;
  const { from, to } = placeIn(plain, start, start + length);
  return isSeparate(plain.original, from, to) ? { from, to, tag: 'card' } : null;
};

/** Checks first digits, length and check digit. A fifth group may be another number after the card number, such as a date or a check number. */
export const findCards = (plain: PlainText): Span[] => {
  const spans: Span[] = [];
  CANDIDATE.lastIndex = 0;
  for (let found = CANDIDATE.exec(plain.text); found; found = CANDIDATE.exec(plain.text)) {
    const { index } = found;
    const hasFifthGroup = found[1] !== undefined && found[0].length > FOUR_GROUPS_LENGTH;
    for (const length of hasFifthGroup ? [found[0].length, FOUR_GROUPS_LENGTH] : [found[0].length]) {
      const card = cardAt(plain, index, length);
      CANDIDATE.lastIndex = card ? index + length : index + 1;
      if (!card) continue;
      spans.push(card);
      break;
    }
  }
  return spans;
};
