import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/**
 * Returns three base64 encodings of a text, one for each offset of the text in a group of three bytes. The characters
 * at both ends are left out, because they depend on the neighbouring bytes.
 */
const base64Of = (text: string): string[] =>
  [0, 1, 2].map((offset) => {
    const encoded = Buffer.from(`${'\0'.repeat(offset)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(offset === 0 ? 0 : offset + 1, -2);
  });

const percentEncoded = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&').toUpperCase();

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Returns the forms in which a file may contain a text, by the name of the encoding. */
const encodingsOf = (text: string): Record<string, string[]> => {
  const base64 = base64Of(text);
  const hex = Buffer.from(text).toString('hex');
  return {
    plain: [text],
    hex: [hex, hex.toUpperCase()],
    base64,
    base64url: base64.map((part) => part.replaceAll('+', '-').replaceAll('/', '_')),
    url: [encodeURIComponent(text), percentEncoded(text)],
    json: [JSON.stringify(text).slice(1, -1), [...text].map((character) => unicodeEscape(character)).join('')],
    utf16: [Buffer.from(text, 'utf16le').toString('latin1')],
  };
};

type Encodings = readonly (readonly [encoding: string, parts: readonly Buffer[]])[];

/** Most texts look the same in several encodings. Each form is searched for only once, under the name of its first encoding. */
const searchable = (text: string): Encodings => {
  const known = new Set<string>();
  return Object.entries(encodingsOf(text)).map(([encoding, texts]) => {
    const parts = texts.filter((part) => !known.has(part));
    for (const part of parts) known.add(part);
    return [encoding, parts.map((part) => Buffer.from(part))] as const;
  });
};

const encodingsIn = (bytes: Buffer, encodings: Encodings): string[] =>
  encodings.filter(([, parts]) => parts.some((part) => bytes.includes(part))).map(([encoding]) => encoding);

const commonPrefix = ([first = '', ...others]: readonly string[]): string => {
  const end = [...first].findIndex((character, index) => others.some((other) => other[index] !== character));
  return end < 0 ? first : first.slice(0, end);
};

/**
 * Searches the files in the directories for several texts in any encoding. Returns the matches of each text, as `<file>
 * (<encoding>)`. If the texts begin alike, this takes hardly longer than the search for one: a file that does not contain
 * their common beginning in any encoding contains none of them.
 */
export const findTexts = (texts: readonly string[], dirs: readonly string[]): ReadonlyMap<string, string[]> => {
  const beginning = searchable(commonPrefix(texts));
  const wanted = texts.map((text) => [text, searchable(text)] as const);
  const found = new Map(texts.map((text): [string, string[]] => [text, []]));
  for (const file of dirs.flatMap(filesIn)) {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) continue;
    const bytes = readFileSync(file);
    if (encodingsIn(bytes, beginning).length === 0) continue;
    for (const [text, encodings] of wanted)
      found.get(text)!.push(...encodingsIn(bytes, encodings).map((encoding) => `${file} (${encoding})`));
  }
  return found;
};

/** Searches the files in the directories for a text in any encoding. Returns the matches as `<file> (<encoding>)`. */
export const findText = (text: string, dirs: readonly string[]): string[] => findTexts([text], dirs).get(text)!;
