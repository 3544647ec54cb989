import { type PlainText, placeIn } from './plain-text.ts';
import type { Span } from './span.ts';
import { endsInKey, startsInKey, textAfter, textBefore } from './word-edge.ts';

const MAX_LOCAL_PART = 64;
const MAX_DOMAIN = 253;
const LOCAL_PART = /[\p{L}\p{M}\p{Nd}.!#$%'+^_~-]+$/u;
const DOMAIN = /^(?:[\p{L}\p{Nd}](?:[\p{L}\p{M}\p{Nd}-]{0,61}[\p{L}\p{M}\p{Nd}])?\.){1,8}(?:xn--[a-z0-9-]{2,59}|[\p{L}\p{M}]{2,63})/u;
/** The end of the name of a picture for screens with many pixels, such as `logo@2x.png`. */
const PICTURE = /^\d(?:\.\d)?x(?:-[\w-]*)?\.(?:png|jpe?g|gif|webp|avif|svg|heic)$/i;

/** Chinese, Japanese and Korean are often mixed in one word. */
const KINDS = ['Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Devanagari', 'Thai']
  .map((script) => new RegExp(`\\p{sc=${script}}`, 'u'))
  .concat(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u);
const LETTER = /\p{L}/u;
const ASCII_NAME = /^[\w.+-]*$/;

const kindOf = (character: string): number => KINDS.findIndex((kind) => kind.test(character));

/** Characters at the start of a text, up to a letter of another kind than the first. */
const lengthOfKind = (characters: readonly string[]): number => {
  let kind: number | undefined;
  for (const [index, character] of characters.entries()) {
    if (!LETTER.test(character)) continue;
    if (kind === undefined) kind = kindOf(character);
    else if (!(KINDS[kind]?.test(character) ?? kindOf(character) === kind)) return index;
  }
  return characters.length;
};

/** Leaves out words of another script directly before the name. */
const localOf = (found: string): string => {
  if (ASCII_NAME.test(found)) return found.replace(/^[.']+/, '');
  const characters = [...found].toReversed();
  return characters
    .slice(0, lengthOfKind(characters))
    .toReversed()
    .join('')
    .replace(/^[\p{M}.'!#$%^~]+/u, '');
};

/**
 * Leaves out words of another script directly after the domain: in a label that continues in another script, or as a label after a point
 * that ends the sentence. Null if no domain is left.
 */
const domainOf = (found: string): string | null => {
  if (ASCII_NAME.test(found)) return found;
  const labels = found.split('.');
  const own = labels.map((label) => {
    const characters = [...label];
    return characters.slice(0, lengthOfKind(characters)).join('');
  });
  const mixed = own.findIndex((label, index) => index > 0 && label !== labels[index]);
  if (mixed > 0) return own[mixed]!.length < 2 ? null : [...labels.slice(0, mixed), own[mixed]].join('.');
  const isSentence = labels.length > 2 && /^[a-z]{2,}$/i.test(labels.at(-2)!) && !/^[a-z]/i.test(labels.at(-1)!);
  return isSentence ? labels.slice(0, -1).join('.') : found;
};

/** Takes time proportional to the length of the text. */
export const findEmails = (plain: PlainText): Span[] => {
  const spans: Span[] = [];
  const { text } = plain;
  let end = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const found = DOMAIN.exec(text.slice(at + 1, at + 1 + MAX_DOMAIN))?.[0];
    if (!found || PICTURE.test(found)) continue;
    const local = localOf(LOCAL_PART.exec(text.slice(Math.max(end, at - MAX_LOCAL_PART), at))?.[0] ?? '');
    const domain = local === '' || local.endsWith('.') ? null : domainOf(found);
    if (!domain) continue;
    end = at + 1 + domain.length;
    spans.push({ ...placeIn(plain, at - local.length, end), tag: 'email' });
  }
  return spans;
};

const SEPARATOR = '[ .\\u00a0\\u2010-\\u2013/-]';
/** Between groups of a number: also a slash or a dash between two blanks. */
const BETWEEN = `(?:[ \\u00a0][/\\u2010-\\u2013-][ \\u00a0]|${SEPARATOR})`;

/** International (+ or 00); national (0 and separators between groups); North American; those of Russia and Kazakhstan (8). */
const PHONE = new RegExp(
  [
    `(?:\\+|(?<!\\d)00)${SEPARATOR}?[1-9]\\d{0,2}(?:(?:${BETWEEN}|${SEPARATOR}{0,2})\\(?\\d{1,5}\\)?){2,7}`,
    `\\(0\\d{1,5}\\)${BETWEEN}?\\d{2,9}(?:${SEPARATOR}\\d{2,6}){0,4}`,
    `0[1-9]\\d{0,4}(?:${BETWEEN}\\d{2,9}){1,5}`,
    `(?:1${SEPARATOR})?(?:\\([2-9]\\d{2}\\)${SEPARATOR}?|[2-9]\\d{2}${SEPARATOR})[2-9]\\d{2}${SEPARATOR}\\d{4}`,
    `8${SEPARATOR}?(?!(?:19|20)\\d{2}${SEPARATOR}\\d{2}${SEPARATOR}\\d{2})(?:\\(\\d{3,5}\\)${SEPARATOR}?|\\d{3,5}${SEPARATOR})\\d{1,3}(?:${SEPARATOR}\\d{2}){2}`,
  ].join('|'),
  'g',
);
const BEFORE_PHONE = /[\p{Nd}_@#./:=-]$/u;
const AFTER_PHONE = /^[\p{Nd}_@]/u;
const DAYS = ['\\.', '-', '/', ' / ', ' - '].map((separator) => `\\d{1,4}${separator}\\d{1,2}${separator}\\d{1,4}`);
const DAY = `(?:${DAYS.join('|')}|\\d{1,2}(?:[.-]| ?/ ?)(?:19|20)\\d{2})`;
/** A date, a month with its year, or a period between two of them. */
const DATE = new RegExp(`^${DAY}(?:${BETWEEN}${DAY})?$`);

/** Coordinates, and amounts with a decimal point. */
const DECIMAL = /^(?:(?:\+|00)\d{1,3}\.\d{1,6}|\+\d{4,}\.\d{1,3})$/;

const isPhone = (found: string): boolean => {
  const digits = found.replace(/\D/g, '').length;
  return digits >= 8 && digits <= 17 && !DATE.test(found) && !DECIMAL.test(found);
};

/** A plus sign after a version, Base64 or the lines of a patch does not begin a phone number. */
const BEFORE_PLUS = /[\p{Nd}@]$|\p{Nd}[.-]$|(?=[a-z+]*\d)(?=\d*[a-z+])[a-z\d+]{4,}\/$|@@ -\d+(?:,\d+)? $/iu;
const AFTER_PLUS = /^(?:[\p{Nd}@]|_+[\p{L}\p{N}]|==)/u;
/** Words for a phone that are too short for `endsInKey`. */
const SHORT_WORD = /(?<![\p{L}\p{N}_+/=-])(?:t[e\u00e9]l|fax|fon|mob|cel|sms|gsm|tlf)$/iu;

/** After most other characters, a plus sign begins a number. */
const isPartOfKey = (before: string, after: string): boolean => {
  if (AFTER_PLUS.test(after) || startsInKey(after, true) || BEFORE_PLUS.test(before)) return true;
  return !SHORT_WORD.test(before) && endsInKey(before, true);
};

/** The caller must have found a number without a plus sign. */
const isPartOfWord = (before: string, after: string): boolean => {
  if (AFTER_PHONE.test(after) || startsInKey(after, false)) return true;
  if (/(?:tel|sms|whatsapp)[:=]$/i.test(before)) return false;
  return BEFORE_PHONE.test(before) || endsInKey(before, false);
};

/** Finds numbers with a country code or in groups; a number without either, such as 5551234567, is not found. */
export const findPhones = (plain: PlainText): Span[] => {
  const spans: Span[] = [];
  for (const { 0: match, index } of plain.text.matchAll(PHONE)) {
    const found = match.includes('(') ? match : match.replace(/\)$/, '');
    const { from, to } = placeIn(plain, index, index + found.length);
    const isPart = found.startsWith('+') ? isPartOfKey : isPartOfWord;
    if (isPhone(found) && !isPart(textBefore(plain.original, from), textAfter(plain.original, to))) spans.push({ from, to, tag: 'phone' });
  }
  return spans;
};
