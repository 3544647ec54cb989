import { withoutEnd } from './text-end.ts';

/** Blanks, line ends, control and format characters. */
const INVISIBLE = '[\\p{Z}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}]';
const AT_START = new RegExp(`^${INVISIBLE}+`, 'u');
const ANY = new RegExp(INVISIBLE, 'u');
/** Matches an invisible character that is not a blank. */
const HIDDEN = new RegExp(`(?! )${INVISIBLE}`, 'u');
const HIDDEN_AT_START = new RegExp(`^(?:(?! )${INVISIBLE})+`, 'u');
const QUOTED = /^(?:"([^"]*)"|'([^']*)'|`([^`]*)`|“([^”]*)”|„([^“”]*)[“”]|‘([^’]*)’|«([^»]*)»)$/u;

const NAMES: Readonly<Record<number, string>> = {
  9: 'a tab',
  10: 'a line end',
  13: 'a line end',
  160: 'a no-break space',
  8203: 'a zero-width space',
  8204: 'a zero-width non-joiner',
  8205: 'a zero-width joiner',
  8288: 'a word joiner',
  65279: 'a byte order mark',
};

/** Removes what copying adds at the ends: blanks, line ends, invisible characters. */
export const trimPasted = (text: string): string => withoutEnd(text.replace(AT_START, ''), ANY);

/** As `trimPasted`, but keeps blanks: for values in which a blank at an end can mean something. */
export const trimHidden = (text: string): string => withoutEnd(text.replace(HIDDEN_AT_START, ''), HIDDEN);

/** Null if no quotation marks enclose the text. */
export const unquoted = (text: string): string | null =>
  QUOTED.exec(text)
    ?.slice(1)
    .find((inner) => inner !== undefined) ?? null;

export const cleanPasted = (text: string): string => {
  const trimmed = trimPasted(text);
  return trimPasted(unquoted(trimmed) ?? trimmed);
};

/** The first invisible character, with its code point. */
export const hiddenCharacter = (text: string): string | null => {
  const found = HIDDEN.exec(text)?.[0].codePointAt(0);
  if (found === undefined) return null;
  return `${NAMES[found] ?? 'an invisible character'} (U+${found.toString(16).toUpperCase().padStart(4, '0')})`;
};
