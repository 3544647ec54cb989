import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The project's root directory. The functions below take and return paths relative to it. */
export const root = join(import.meta.dirname, '../..');

/** Returns the source files below a folder. @throws Error if there are none, so that a renamed folder does not pass as clean */
export const filesOf = (room: string): string[] => {
  const files = globSync(`${room}/**/*.{ts,mjs}`, { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  if (files.length === 0) throw new Error(`${room} has no source files`);
  return files;
};

/** Returns the text of a source file. */
export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Returns the text of a source file without its comments. */
export const withoutComments = (file: string): string =>
  textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1');

const IMPORTS = [/^(?:import|export)\b[^;'`]*?\bfrom '([^']+)'/gm, /^import '([^']+)'/gm, /\bimport\('([^']+)'\)/g];

/** Returns the names that a file imports, as they are written in it. */
export const importsOf = (file: string): string[] =>
  IMPORTS.flatMap((pattern) => [...withoutComments(file).matchAll(pattern)].map((found) => found[1]!));

/** Returns the project files that a file imports, as paths relative to the project's root. */
export const importedFiles = (file: string): string[] =>
  importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file), name)).replaceAll('\\', '/'));
