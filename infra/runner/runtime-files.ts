import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findProcess } from '../supervision/os-process.ts';

/** Settings, models, skills, tools and secrets as the service sent them: `body` is JSON; `etag` is that of the response. */
export type Runtime = { readonly body: string; readonly etag: string };

/** Creates the files that tell a command about its agent. Each run of a command gets its own file. */
export type RuntimeFiles = {
  /** Only the owner can read the file. `work` gets its absolute path; the file is then removed, even if `work` fails. */
  readonly withFile: <T>(runtime: Runtime, work: (path: string) => Promise<T>) => Promise<T>;
};

const SUFFIX = '.runtime.json';
const FILE_NAME = /^(\d+)\.([A-Za-z0-9]+)\.\d+\.runtime\.json$/;

/** Identifies a running process in a file name. Contains the start time, because the system reuses process ids. */
const processMark = (pid: number): string | null => {
  const found = findProcess(pid);
  return found ? `${pid}.${found.start.replace(/[^A-Za-z0-9]/g, '')}` : null;
};

/** Removes the files of runners that ended without removing them, for example because of SIGKILL. */
const removeStaleFiles = (dir: string): void => {
  for (const name of readdirSync(dir)) {
    const [, pid, start] = FILE_NAME.exec(name) ?? [];
    if (pid && processMark(Number(pid)) !== `${pid}.${start}`) rmSync(join(dir, name), { force: true });
  }
};

/** `count` is the number of files that this process has created. */
const openFiles = new Set<string>();
let count = 0;

const remove = (path: string): void => {
  rmSync(path, { force: true });
  openFiles.delete(path);
};

const removeAll = (): void => openFiles.forEach(remove);

/** Only the owner can read the directory. Stale files are removed at once, and those of this process when it exits. */
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
