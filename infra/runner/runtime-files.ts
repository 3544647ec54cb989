import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findProcess } from '../supervision/os-process.ts';

/** The runtime of an agent as the service sent it: JSON with secrets, and its ETag. */
export type Runtime = { readonly body: string; readonly etag: string };

/** Gives each run of a command a file of its own with the runtime of the agent. */
export type RuntimeFiles = {
  /**
   * Writes the runtime to a new file that only the owner can read, calls `work` with its absolute path, and then
   * removes the file, also if `work` fails.
   */
  readonly withFile: <T>(runtime: Runtime, work: (path: string) => Promise<T>) => Promise<T>;
};

const SUFFIX = '.runtime.json';
const FILE_NAME = /^(\d+)\.([A-Za-z0-9]+)\.\d+\.runtime\.json$/;

/** Identifies a running process in a file name: pids are reused, but never with the same start time. */
const processMark = (pid: number): string | null => {
  const found = findProcess(pid);
  return found ? `${pid}.${found.start.replace(/[^A-Za-z0-9]/g, '')}` : null;
};

/** Removes the files of runners that have ended without removing them, for example by SIGKILL. */
const removeStaleFiles = (dir: string): void => {
  for (const name of readdirSync(dir)) {
    const [, pid, start] = FILE_NAME.exec(name) ?? [];
    if (pid && processMark(Number(pid)) !== `${pid}.${start}`) rmSync(join(dir, name), { force: true });
  }
};

/** The files of this process that exist at present, and how many it has created. */
const openFiles = new Set<string>();
let count = 0;

const remove = (path: string): void => {
  rmSync(path, { force: true });
  openFiles.delete(path);
};

const removeAll = (): void => openFiles.forEach(remove);

/**
 * Opens the directory for the files, which only the owner can read, and removes stale ones. Files that are left when
 * the process exits are removed then.
 */
export const openRuntimeFiles = (dir: string): RuntimeFiles => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  removeStaleFiles(dir);
  const mark = processMark(process.pid);
  if (!process.listeners('exit').includes(removeAll)) process.on('exit', removeAll);

  return {
    withFile: async ({ body }, work) => {
      const path = resolve(dir, `${mark}.${++count}${SUFFIX}`);
      openFiles.add(path);
      try {
        writeFileSync(path, body, { mode: 0o600, flag: 'wx' });
        return await work(path);
      } finally {
        remove(path);
      }
    },
  };
};
