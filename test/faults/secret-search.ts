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

/** Searches the files in the directories for a text in any encoding. Returns the matches as `<file> (<encoding>)`. */
export const findText = (text: string, dirs: readonly string[]): string[] => {
  const encodings = Object.entries(encodingsOf(text)).map(
    ([encoding, texts]) => [encoding, texts.map((part) => Buffer.from(part))] as const,
  );
  return dirs.flatMap(filesIn).flatMap((file) => {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return [];
    const bytes = readFileSync(file);
    return encodings.filter(([, parts]) => parts.some((part) => bytes.includes(part))).map(([encoding]) => `${file} (${encoding})`);
  });
};
