import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Errors of the file system that say that a file cannot have a second name at that place. */
const NOT_LINKABLE = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'];
const NATS = join('node_modules', '.cache', 'annals', 'nats-server');

/** Files that no process loads. They are half of all files of the packages. */
const NEVER_LOADED = /\.(h|map|md|markdown|d\.[cm]?ts)$/;

/** Links the files of a package, without the packages inside it, which have entries of their own in the lock file. */
const linkTree = (from: string, to: string): void => {
  const stat = lstatSync(from);
  if (stat.isSymbolicLink()) return void symlinkSync(readlinkSync(from), to);
  if (!stat.isDirectory() && NEVER_LOADED.test(from)) return;
  if (!stat.isDirectory()) return void linkSync(from, to);
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) if (name !== 'node_modules') linkTree(join(from, name), join(to, name));
};

/** Returns the paths of the installed packages that the program needs, without those for development. */
const packagePaths = (root: string): string[] => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> };
  return Object.keys(packages).filter((path) => path !== '' && !packages[path]!.dev && existsSync(join(root, path)));
};

const isSymbolicLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** Removes the packages of a copy, but not its compile cache. */
const removePackages = (modules: string): void => {
  if (isSymbolicLink(modules)) return void rmSync(modules);
  if (!existsSync(modules)) return;
  for (const name of readdirSync(modules)) if (name !== '.cache') rmSync(join(modules, name), { recursive: true, force: true });
};

/**
 * Gives the copy hard links to the files of the packages. If files cannot be linked (another file system, or files of
 * another user), it uses the packages of the checkout itself.
 */
export const linkPackages = (root: string, copy: string): void => {
  const modules = join(copy, 'node_modules');
  removePackages(modules);
  try {
    for (const path of packagePaths(root)) {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      linkTree(realpathSync(join(root, path)), join(copy, path));
    }
  } catch (error) {
    if (!NOT_LINKABLE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    rmSync(modules, { recursive: true, force: true });
    symlinkSync(join(root, 'node_modules'), modules);
  }
};

/** Links a nats-server that one of these directories has, so that the copy need not download it again. */
export const linkNatsServer = (from: readonly string[], copy: string): void => {
  const source = from.map((dir) => join(dir, NATS)).find((file) => existsSync(file));
  const target = join(copy, NATS);
  if (!source || existsSync(target) || isSymbolicLink(join(copy, 'node_modules'))) return;
  mkdirSync(dirname(target), { recursive: true });
  linkSync(realpathSync(source), target);
};
