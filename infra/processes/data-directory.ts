import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile, type ProcessLock } from '../process-lock.ts';
import { readPidFile, removePidFile, writePidFile } from '../supervision/pid-file.ts';

/**
 * The mode of a data directory that root creates: other users may pass through it. If root runs the platform,
 * PostgreSQL runs as another user, and must reach its own directory inside the data directory.
 */
const PASSABLE = 0o711;
const PRIVATE = 0o700;

/**
 * The maximum length of the path of a data directory, in bytes. SQLite, which locks a file in that directory, accepts
 * paths of up to 512 bytes.
 */
const MAX_DATA_PATH_BYTES = 400;

const createDirectory = (dir: string): void => {
  if (Buffer.byteLength(dir) > MAX_DATA_PATH_BYTES) throw new Error(`ANNALS_DATA must be a path of at most ${MAX_DATA_PATH_BYTES} bytes`);
  try {
    mkdirSync(dir, { recursive: true, mode: process.getuid?.() === 0 ? PASSABLE : PRIVATE });
    accessSync(dir, constants.W_OK);
  } catch (error) {
    throw new Error(`ANNALS_DATA ${dir} cannot be written to: ${(error as NodeJS.ErrnoException).code}`);
  }
};

/**
 * Creates the data directory and locks it until this process ends.
 * @throws Error with a one-line message for the operator if another process uses it
 */
export const lockDataDirectory = (dir: string): ProcessLock => {
  createDirectory(dir);
  const pidFile = join(dir, 'annals.pid');
  const lock = lockFile(join(dir, 'lock'));
  if (!lock) {
    const owner = readPidFile(pidFile);
    throw new Error(`annals already runs on ${dir}${owner ? ` (process ${owner.pid})` : ''}`);
  }
  writePidFile(pidFile, process.pid);
  return {
    release: () => {
      removePidFile(pidFile);
      lock.release();
    },
  };
};
