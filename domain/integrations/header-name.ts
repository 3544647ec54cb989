import { PROVIDER_DEFINITIONS } from './provider.ts';

/** Words that header names do not write with one capital letter at their start. */
const SPELLINGS: ReadonlyMap<string, string> = new Map(
  ['UUID', ...Object.values(PROVIDER_DEFINITIONS).flatMap(({ headerSpelling }) => headerSpelling ?? [])].map((spelling) => [
    spelling.toLowerCase(),
    spelling,
  ]),
);

const spelled = (part: string): string => SPELLINGS.get(part) ?? part.charAt(0).toUpperCase() + part.slice(1);

/** Returns the usual spelling, such as `X-GitHub-Delivery`. */
const shownHeader = (name: string): string => name.split('-').map(spelled).join('-');

/** Returns a text such as `X-A, X-B or X-C`. */
export const anyHeader = (names: readonly string[]): string => {
  const shown = names.map(shownHeader);
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
};
