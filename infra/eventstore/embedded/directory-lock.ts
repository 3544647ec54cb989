import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDirectory } from '../../durable-files.ts';

/**
 * Holds a directory for this process until it ends, however it ends: the lock is the operating system's, taken through SQLite, and nothing stale
 * can be left of it. @throws where another process serves the directory
 */
export const lockDirectory = (dir: string): { release: () => void } => {
  makeDirectory(dir);
  const database = new DatabaseSync(join(dir, 'lock'), { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch {
    database.close();
    throw new Error(`${dir} is served by another process`);
  }
  return { release: () => database.close() };
};
