import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const BUSY = 5;

/** Holds a file against every other process until ours ends, however it ends. Undefined where another holds it. */
export const lock = (file: string): { release(): void } | undefined => {
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file);
  try {
    // A transaction that is never committed: the system lifts SQLite's lock with the process, and no pid can be mistaken.
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
};
