const FLAG_OF_REGION = /\u{1f3f4}[\u{e0030}-\u{e007a}]{2,7}\u{e007f}/gu;
const TAG = /[\u{e0001}-\u{e007f}]/u;
const TAGS = /[\u{e0020}-\u{e007e}]/gu;
const SELECTORS = /[\u{e0100}-\u{e01ef}]{2}|[\ufe00-\ufe0f]{3}/u;
const INVISIBLE_RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{4}/;
const IN_LATIN_WORD = /[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z])/g;
const DIRECTION_OVERRIDE = /[\u202d\u202e]/;
const ISOLATES = /[\u2066-\u2068]/g;
const POP_ISOLATE = /\u2069/g;

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/**
 * Whether a text has parts that a language model reads, but people do not see: tag characters, runs of invisible characters or some within
 * Latin words, and changes of the display order. Emoji, flags, and the joiners that some scripts need are allowed.
 */
export const hasHiddenText = (text: string): boolean =>
  TAG.test(text.replace(FLAG_OF_REGION, '')) ||
  SELECTORS.test(text) ||
  INVISIBLE_RUN.test(text) ||
  count(text, IN_LATIN_WORD) >= 2 ||
  DIRECTION_OVERRIDE.test(text) ||
  count(text, ISOLATES) !== count(text, POP_ISOLATE);

/** Tag characters are invisible copies of ASCII characters. */
export const textInTags = (text: string): string =>
  (text.match(TAGS) ?? []).map((tag) => String.fromCharCode(tag.codePointAt(0)! - 0xe0000)).join('');
