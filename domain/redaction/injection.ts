import { MAY_HAVE_INJECTION, possibleContent } from './content-filter.ts';
import { decodedTexts } from './encoded-text.ts';
import { hasHiddenText, textInTags } from './hidden-text.ts';
import { hasInstructingComment, MARKUP_PATTERNS } from './injection-markup.ts';
import { WORD_PATTERNS } from './injection-words.ts';
import { INVISIBLE, normalTexts } from './normal-text.ts';

const MIN_LENGTH = 8;
/** Longer texts are checked in overlapping parts of this many characters, so that the time is proportional to the length. */
const PART_LENGTH = 32_768;
const OVERLAP = 1_024;

const encoder = new TextEncoder();

const namesIn = (text: string): string[] => {
  const visible = text.replace(INVISIBLE, '');
  const readings = normalTexts(text);
  const matching = [
    ...WORD_PATTERNS.filter(({ pattern }) => readings.some((reading) => pattern.test(reading))),
    ...MARKUP_PATTERNS.filter(({ pattern }) => pattern.test(visible)),
  ].map(({ name }) => name);
  return hasInstructingComment(visible) ? [...matching, 'hidden_markup'] : matching;
};

const namesInPart = (text: string): string[] => {
  const hidden = hasHiddenText(text);
  const encoded = [textInTags(text), ...decodedTexts(text)].some((decoded) => decoded.length >= MIN_LENGTH && namesIn(decoded).length > 0);
  return [...namesIn(text), ...(hidden ? ['hidden_text'] : []), ...(encoded ? ['encoded_instructions'] : [])];
};

/**
 * Names of the matching heuristics. They are a hint, not a protection: a text about such attacks matches, too, and a careful attack does
 * not. The same text always has the same result. Takes time proportional to the length.
 */
export const findInjection = (text: string): readonly string[] => {
  if (text.length < MIN_LENGTH || (possibleContent(encoder.encode(` ${text}  `)) & MAY_HAVE_INJECTION) === 0) return [];
  const names = new Set<string>();
  for (let from = 0; from < text.length; from += PART_LENGTH)
    for (const name of namesInPart(text.slice(Math.max(0, from - OVERLAP), from + PART_LENGTH))) names.add(name);
  return [...names];
};
