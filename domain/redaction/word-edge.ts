/** The number of characters before and after a value that are examined. */
const NEAR = 40;

/** Other scripts often have no blank between words and values, and values have no letters of these scripts. */
const LATIN_BEFORE = /\p{sc=Latin}\p{M}*$/u;
const LATIN_AFTER = /^\p{sc=Latin}/u;
/** At least four Latin letters: a shorter word can be a part of a key or a digest. */
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

/** Whether a value after the text belongs to its last Latin letters, as in a key. If `mayBeWord`, a whole word is not such a part. */
export const endsInKey = (before: string, mayBeWord: boolean): boolean => isPartOf(LATIN_BEFORE, WORD_BEFORE, before, mayBeWord);

/** As `endsInKey`, for a text after a value. */
export const startsInKey = (after: string, mayBeWord: boolean): boolean => isPartOf(LATIN_AFTER, WORD_AFTER, after, mayBeWord);
