import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** What base64 makes of a text at each of the three places where it may begin, but for the ends that its neighbours decide. */
const base64Of = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -2);
  });

/** The forms in which a text may have been written down. */
const formsOf = (text: string): Record<string, string[]> => {
  const base64 = base64Of(text);
  const hex = Buffer.from(text).toString('hex');
  return {
    plain: [text],
    hex: [hex, hex.toUpperCase()],
    base64,
    base64url: base64.map((part) => part.replaceAll('+', '-').replaceAll('/', '_')),
  };
};

/** Where a text stands in the files below the directories, in whatever form: `<file> (<form>)`. */
export const placesOf = (text: string, dirs: readonly string[]): string[] => {
  const forms = Object.entries(formsOf(text)).map(([form, texts]) => [form, texts.map((part) => Buffer.from(part))] as const);
  return dirs.flatMap(filesIn).flatMap((file) => {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return [];
    const bytes = readFileSync(file);
    return forms.filter(([, parts]) => parts.some((part) => bytes.includes(part))).map(([form]) => `${file} (${form})`);
  });
};
