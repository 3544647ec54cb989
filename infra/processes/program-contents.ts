import { constants, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** README.md and docs/ are the guides that the service shows. */
const SOURCES = ['domain', 'commands', 'projections', 'api', 'infra', 'README.md', 'docs', 'package.json', 'package-lock.json'];
/** These change with every installation of packages. */
const INSTALLED = ['.', '.package-lock.json', '.annals-start', '.annals-test'];

/** What a copy of the program was made of: the state of each source file, and that of the installed packages. */
export type ProgramContents = { readonly files: ReadonlyMap<string, string>; readonly packages: string };

const stateOf = (path: string): string => {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.size} ${stat.mtimeMs} ${stat.ino}` : '-';
};

const filesIn = (root: string, path: string): string[] => {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isDirectory() ? readdirSync(join(root, path)).flatMap((name) => filesIn(root, join(path, name))) : [path];
};

export const contentsOf = (root: string): ProgramContents => ({
  files: new Map(SOURCES.flatMap((source) => filesIn(root, source)).map((file) => [file, stateOf(join(root, file))])),
  packages: INSTALLED.map((name) => stateOf(join(root, 'node_modules', name))).join(', '),
});

const recordIn = (copy: string): string => join(copy, 'contents.json');

const textOf = ({ files, packages }: ProgramContents): string => JSON.stringify({ files: [...files], packages });

/** Returns what the copy was made of; undefined if it was never completed. */
export const recordedContents = (copy: string): ProgramContents | undefined => {
  try {
    const { files, packages } = JSON.parse(readFileSync(recordIn(copy), 'utf8')) as { files: [string, string][]; packages: string };
    return { files: new Map(files), packages };
  } catch {
    return undefined;
  }
};

export const recordContents = (copy: string, contents: ProgramContents): void => writeFileSync(recordIn(copy), textOf(contents));

export const forgetContents = (copy: string): void => rmSync(recordIn(copy), { force: true });

export const isMadeOf = (copy: string, contents: ProgramContents): boolean => {
  const recorded = recordedContents(copy);
  return recorded !== undefined && textOf(recorded) === textOf(contents);
};

/** Copies the files that have changed since the copy was made, and removes those that are gone. */
export const copyChangedFiles = (root: string, copy: string, earlier: ProgramContents | undefined, contents: ProgramContents): void => {
  for (const file of earlier?.files.keys() ?? []) if (!contents.files.has(file)) rmSync(join(copy, file), { force: true });
  for (const [file, state] of contents.files) {
    if (earlier?.files.get(file) === state) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    copyFileSync(join(root, file), join(copy, file), constants.COPYFILE_FICLONE);
  }
};
