/**
 * Characters that Twilio leaves as they are in the URL that it signs, but may encode in the URL that it requests. See
 * https://github.com/twilio/twilio-node/pull/621 and https://github.com/twilio/twilio-node/issues/1059
 */
const MIXED = /[:@']|%(?:3a|40|27)/gi;
/**
 * Other characters that only some programs encode in a query (https://url.spec.whatwg.org/#query-percent-encode-set).
 * Characters that separate names and values are not among them, nor is the plus sign, which stands for a blank.
 */
const OTHERS = /%(?:2[01248-9acf]|3[cef]|5[bcde]|60|7[bcde])|(?:%[89a-f][0-9a-f])+/gi;
/** Whether a query has a character of either list. */
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

/** The ways in which a character can be written. The last way is dropped first if there are too many combinations. */
const waysOf = (character: string): readonly string[] => [character, upper(character), upper(character).toLowerCase()];

/** Returns all texts that have one of the ways of each part, in their order. */
const combine = (parts: readonly (readonly string[])[]): readonly string[] =>
  parts.reduce<readonly string[]>((texts, ways) => texts.flatMap((text) => ways.map((way) => text + way)), ['']);

/** Returns a query in which each of these characters is written in the same way everywhere, in all combinations. */
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

/** Returns a query with all combinations of its mixed characters, or with those that are written the same everywhere. */
const mixedForms = (query: string): readonly string[] => {
  const texts = query.split(MIXED);
  const characters = [...query.matchAll(MIXED)].map(([found]) => decoded(found));
  const choices = [3, 2].find((count) => count ** characters.length <= MAX_COMBINATIONS);
  if (choices === undefined) return uniformForms(texts, characters);
  const parts = texts.flatMap((text, at) => [[text], at < characters.length ? waysOf(characters[at]!).slice(0, choices) : ['']]);
  return [...combine(parts), ...uniformForms(texts, characters)];
};

/**
 * Returns the URLs that Twilio may have signed when it requests `url`: the same URL, in which characters of the query
 * are encoded or not. All of them have the same parameters. The first one is `url` itself.
 */
export const signedUrls = (url: string): readonly string[] => {
  const start = url.indexOf('?') + 1;
  const query = url.slice(start);
  if (start === 0 || !HAS_EITHER.test(query)) return [url];
  const queries = [query, ...[query, query.replace(OTHERS, decoded)].flatMap(mixedForms)];
  return [...new Set(queries)].map((form) => url.slice(0, start) + form);
};
