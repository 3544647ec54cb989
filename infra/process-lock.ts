import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** SQLite's result code for a database that another connection has locked. */
const SQLITE_BUSY = 5;

export type ProcessLock = { readonly release: () => void };

/**
 * Creates a missing file. Locked until `release` or the end of this process: SQLite's lock is released by the operating system even after a
 * kill, so no stale lock can remain. Undefined if another process holds the lock.
 * @throws Error if the file cannot be opened
 */
export const lockFile = (file: string): ProcessLock | undefined => {
  // Open only a missing file: closing any descriptor of a file loses all locks of this process on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Never committed: holds the lock until the database is closed.
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
};
