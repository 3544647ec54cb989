/** The number of characters beside a value that are looked at. */
const NEAR = 40;

/**
 * Matches Latin letters at the end or start of a text. In other scripts, words and values are often written without a
 * blank between them, and values have no letters of these scripts.
 */
const LATIN_BEFORE = /\p{sc=Latin}\p{M}*$/u;
const LATIN_AFTER = /^\p{sc=Latin}/u;
/** Matches a whole word of at least four Latin letters. A shorter one can be a part of a key or a digest. */
const WORD_BEFORE = /(?<![\p{L}\p{N}_+/=-])(?:\p{sc=Latin}\p{M}*){4,}$/u;
const WORD_AFTER = /^(?:\p{sc=Latin}\p{M}*){4,}(?![\p{L}\p{N}_+/=-])/u;
const HEX = /^[a-f]*$/i;

export const textBefore = (text: string, from: number): string => text.slice(Math.max(0, from - NEAR), from);
export const textAfter = (text: string, to: number): string => text.slice(to, to + NEAR);

const isPartOf = (letter: RegExp, word: RegExp, text: string, mayBeWord: boolean): boolean => {
  if (!letter.test(text)) return false;
  const found = mayBeWord ? word.exec(text)?.[0] : undefined;
  return found === undefined || HEX.test(found);
};

/**
 * Returns whether the text ends in Latin letters to which a value behind it belongs, as in a key. If `mayBeWord` is
 * true, a whole word before the value is not such a part.
 */
export const endsInKey = (before: string, mayBeWord: boolean): boolean => isPartOf(LATIN_BEFORE, WORD_BEFORE, before, mayBeWord);

/** Returns the same as `endsInKey` for a text behind a value. */
export const startsInKey = (after: string, mayBeWord: boolean): boolean => isPartOf(LATIN_AFTER, WORD_AFTER, after, mayBeWord);
