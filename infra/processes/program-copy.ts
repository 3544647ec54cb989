import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { printErrorLine } from '../logging/print-line.ts';
import { lockFile, type ProcessLock } from '../process-lock.ts';
import { BUNDLE, entryPoint, PROGRAM_ROOT, RUNNING_MAIN } from '../program.ts';
import { readPidFile, writePidFile } from '../supervision/pid-file.ts';
import { bundleProgram } from './bundle-program.ts';
import { linkNatsServer, linkPackages } from './link-packages.ts';
import {
  contentsOf,
  copyChangedFiles,
  forgetContents,
  isMadeOf,
  type ProgramContents,
  recordContents,
  recordedContents,
} from './program-contents.ts';

/**
 * Long-running commands run from a copy of the program. The copy has its own sources, a bundle of them, and hard links to
 * the files of the packages. So what a process loads later, and the binaries of the processes that it restarts, stay as they were at
 * its start, whatever `git pull` or an installation changes in the checkout. The copies are numbered, and a number is
 * used again as soon as no process runs from it, because the compile cache knows files by their path.
 */
const COPIES = '.programs';
/** The process with the lock may be bundling, which takes a minute on a slow machine. */
const LOCK_TIMEOUT_MS = 120_000;
const LOCK_POLL_MS = 50;

const isCopy = (dir: string): boolean => basename(dirname(dir)) === COPIES;

const printUnbundled = (reason: string): void =>
  printErrorLine(`annals: the program is not bundled, so it starts more slowly and needs more memory: ${reason}`);

/** Bundles a copy. If that fails, processes run from the sources, and the next start tries again. */
const bundle = (copy: string): void => {
  try {
    bundleProgram(copy);
  } catch (error) {
    rmSync(join(copy, BUNDLE), { recursive: true, force: true });
    printUnbundled((error as Error).message);
  }
};

const renew = (root: string, copy: string, contents: ProgramContents, complete: (copy: string) => void): void => {
  const earlier = recordedContents(copy);
  forgetContents(copy);
  // What an interrupted renewal has left is unknown.
  if (!earlier) rmSync(copy, { recursive: true, force: true });
  copyChangedFiles(root, copy, earlier, contents);
  if (earlier?.packages !== contents.packages) linkPackages(root, copy);
  linkNatsServer([root, ...copiesOf(root)], copy);
  complete(copy);
  recordContents(copy, contents);
};

const usersOf = (copy: string): string => join(copy, 'users');

/** Returns whether a process runs from the copy, and forgets those that have ended. */
const isUsed = (copy: string): boolean => {
  if (!existsSync(usersOf(copy))) return false;
  for (const name of readdirSync(usersOf(copy))) {
    const file = join(usersOf(copy), name);
    if (!readPidFile(file)) rmSync(file, { force: true });
  }
  return readdirSync(usersOf(copy)).length > 0;
};

const copiesOf = (root: string): string[] =>
  readdirSync(join(root, COPIES))
    .filter((name) => /^\d+$/.test(name))
    .sort((one, other) => Number(one) - Number(other))
    .map((name) => join(root, COPIES, name));

const firstFreeCopy = (root: string): string => {
  for (let number = 0; ; number++) {
    const copy = join(root, COPIES, String(number));
    if (!isUsed(copy)) return copy;
  }
};

const waitForLock = (file: string): ProcessLock | undefined => {
  for (let waited = 0; waited < LOCK_TIMEOUT_MS; waited += LOCK_POLL_MS) {
    const lock = lockFile(file);
    if (lock) return lock;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
  return undefined;
};

/** Completes a copy whose bundling has failed, unless processes run from it: they would load both sources and bundle. */
const completeLater = (copy: string, contents: ProgramContents, complete: (copy: string) => void): void => {
  if (existsSync(join(copy, BUNDLE))) return;
  if (isUsed(copy)) {
    printUnbundled('other processes run from the same copy; it is bundled at the next start after they have ended');
    return;
  }
  forgetContents(copy);
  complete(copy);
  recordContents(copy, contents);
};

/**
 * Returns the directory of a copy of the program at `root`, which belongs to the process `pid` until it ends. `complete`
 * bundles a copy that was made or changed, or that has no bundle.
 * @throws Error if the checkout cannot be written to
 */
export const copyProgram = (root: string, pid: number, complete = bundle): string => {
  mkdirSync(join(root, COPIES), { recursive: true });
  const lock = waitForLock(join(root, COPIES, 'lock'));
  if (!lock) throw new Error(`${COPIES} is locked`);
  try {
    const contents = contentsOf(root);
    const copy = copiesOf(root).find((each) => isMadeOf(each, contents)) ?? firstFreeCopy(root);
    if (isMadeOf(copy, contents)) completeLater(copy, contents, complete);
    else renew(root, copy, contents, complete);
    mkdirSync(usersOf(copy), { recursive: true });
    writePidFile(join(usersOf(copy), `${pid}.json`), pid);
    return copy;
  } finally {
    lock.release();
  }
};

export type ProgramPlace = { readonly root: string; readonly node: string };

/** The npm package has no lock file. It changes only if npm replaces it. */
const isCheckout = existsSync(join(PROGRAM_ROOT, 'package-lock.json'));

/**
 * Returns where this process is to run from: its copy of the program. In a checkout that cannot be written to, it is
 * the checkout: nobody can install or pull anything there as this user.
 */
export const programPlace = (): ProgramPlace => {
  if (isCopy(PROGRAM_ROOT) || !isCheckout) return { root: PROGRAM_ROOT, node: process.execPath };
  try {
    const copy = copyProgram(PROGRAM_ROOT, process.pid);
    const node = join(copy, relative(PROGRAM_ROOT, process.execPath));
    const isPackaged = process.execPath.startsWith(join(realpathSync(PROGRAM_ROOT), 'node_modules') + sep);
    return { root: copy, node: isPackaged && existsSync(node) ? node : process.execPath };
  } catch (error) {
    printErrorLine(`annals: the program runs from ${PROGRAM_ROOT} itself, because it could not be copied: ${(error as Error).message}`);
    return { root: PROGRAM_ROOT, node: process.execPath };
  }
};

/**
 * Replaces this process with one that runs the same command from a copy of the program, and from its bundle, unless it
 * already does. The npm package is not copied, but has a bundle. A process with an IPC channel runs where its supervisor
 * has started it.
 */
export const runFromCopy = (): void => {
  if (process.channel) return;
  const { root, node } = programPlace();
  const main = entryPoint('infra/main.ts', root);
  if (main === RUNNING_MAIN) return;
  process.execve!(node, [node, ...process.execArgv, main, ...process.argv.slice(2)], process.env as Record<string, string>);
};
