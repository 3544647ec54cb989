import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** SQLite's result code for a database that another connection has locked. */
const SQLITE_BUSY = 5;

export type ProcessLock = { readonly release: () => void };

/**
 * Locks a file until `release` is called or this process ends. If the file does not exist, it is created. The lock is
 * the one that SQLite sets on a database file: the operating system releases it even if the process is killed, so no
 * stale lock can remain.
 * @returns undefined if another process holds the lock
 * @throws Error if the file cannot be opened
 */
export const lockFile = (file: string): ProcessLock | undefined => {
  // Open only a missing file here. When a process closes any descriptor of a file, it loses all its locks on the file,
  // and this process may have locked an existing file already.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // This transaction is never committed. It holds the lock until the database is closed.
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
};
