/**
 * Twilio signs these as they are, but may encode them in its request. See https://github.com/twilio/twilio-node/pull/621 and
 * https://github.com/twilio/twilio-node/issues/1059
 */
const MIXED = /[:@']|%(?:3a|40|27)/gi;
/**
 * Only some programs encode these in a query (https://url.spec.whatwg.org/#query-percent-encode-set). Not those that separate names and
 * values, nor the plus sign, which is a blank.
 */
const OTHERS = /%(?:2[01248-9acf]|3[cef]|5[bcde]|60|7[bcde])|(?:%[89a-f][0-9a-f])+/gi;
/** A query with a character of either list. */
const HAS_EITHER = /[:@']|%(?:3a|40|27|2[01248-9acf]|3[cef]|5[bcde]|60|7[bcde]|[89a-f][0-9a-f])/i;
/** The maximum number of combinations of single characters that are tried. */
const MAX_COMBINATIONS = 81;

const decoded = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
};

const upper = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** How a character can be written. If there are too many combinations, the last way is dropped first. */
const waysOf = (character: string): readonly string[] => [character, upper(character), upper(character).toLowerCase()];

const combine = (parts: readonly (readonly string[])[]): readonly string[] =>
  parts.reduce<readonly string[]>((texts, ways) => texts.flatMap((text) => ways.map((way) => text + way)), ['']);

/** Returns the texts with each of these characters written in the same way everywhere, in all combinations. */
const uniformForms = (texts: readonly string[], characters: readonly string[]): readonly string[] => {
  const distinct = [...new Set(characters)];
  const choices = distinct.reduce<readonly (readonly string[])[]>(
    (chosen, character) => chosen.flatMap((ways) => waysOf(character).map((way) => [...ways, way])),
    [[]],
  );
  return choices.map((ways) =>
    texts.map((text, at) => text + (at < characters.length ? ways[distinct.indexOf(characters[at]!)] : '')).join(''),
  );
};

/** All combinations of the mixed characters, or those that are the same everywhere. */
const mixedForms = (query: string): readonly string[] => {
  const texts = query.split(MIXED);
  const characters = [...query.matchAll(MIXED)].map(([found]) => decoded(found));
  const choices = [3, 2].find((count) => count ** characters.length <= MAX_COMBINATIONS);
  if (choices === undefined) return uniformForms(texts, characters);
  const parts = texts.flatMap((text, at) => [[text], at < characters.length ? waysOf(characters[at]!).slice(0, choices) : ['']]);
  return [...combine(parts), ...uniformForms(texts, characters)];
};

/** What Twilio may have signed when it requests `url`: characters of the query encoded or not, the same parameters. The first is `url` itself. */
export const signedUrls = (url: string): readonly string[] => {
  const start = url.indexOf('?') + 1;
  const query = url.slice(start);
  if (start === 0 || !HAS_EITHER.test(query)) return [url];
  const queries = [query, ...[query, query.replace(OTHERS, decoded)].flatMap(mixedForms)];
  return [...new Set(queries)].map((form) => url.slice(0, start) + form);
};
