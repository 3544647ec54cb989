/** RFC 9110, 8.4. */
export const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const;
export type Coding = (typeof CODINGS)[number];

/** The maximum number of content codings of a body. */
const MAX_CODINGS = 3;

const codingOf = (name: string): Coding | undefined => CODINGS.find((known) => known === name || `x-${known}` === name);

/** In lower case, in the order in which the codings were applied. */
const namesIn = (header: string): string[] =>
  header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');

export const isPacked = (header: string | null | undefined): boolean => !!header && namesIn(header).length > 0;

/** In the order in which they were applied. Null if one is unknown, or if there are too many. */
export const codingsOf = (header: string): readonly Coding[] | null => {
  const codings = namesIn(header).map(codingOf);
  return codings.length <= MAX_CODINGS && !codings.includes(undefined) ? (codings as Coding[]) : null;
};
