import { closeSync, fdatasyncSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** When `add` returns, the id is safely on the disk. A runner adds it before it acknowledges the message. */
export type ProcessedIds = { readonly has: (id: string) => boolean; readonly add: (id: string) => void };

const MIN_REMEMBERED = 100_000;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const sync = (path: string): void => {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
};

const readFrom = (file: string, offset: number, size: number): string => {
  const handle = openSync(file, 'r');
  const bytes = Buffer.alloc(size - offset);
  const length = readSync(handle, bytes, 0, bytes.length, offset);
  closeSync(handle);
  return bytes.toString('latin1', 0, length);
};

/** Replaces the file atomically with one that contains these ids. */
const rewrite = (file: string, ids: Iterable<string>): void => {
  const next = `${file}.next`;
  const handle = openSync(next, 'w', 0o600);
  writeSync(handle, [...ids, ''].join('\n'));
  fsyncSync(handle);
  closeSync(handle);
  renameSync(next, file);
  sync(dirname(file));
};

/** Appends an id as a line to the file. When this returns, the line is durable. */
const append = (file: string, id: string): void => {
  const handle = openSync(file, 'a', 0o600);
  try {
    writeSync(handle, `${id}\n`);
    fdatasyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/** The runners of one agent on this machine share the file. When it is shortened, it keeps at least the last `minRemembered` ids. */
export const openProcessedIds = (file: string, minRemembered = MIN_REMEMBERED): ProcessedIds => {
  const ids = new Set<string>();
  let readUpTo = { inode: 0n, size: 0 };

  /** Reads the ids that another runner of the same agent has appended. */
  const refresh = (): void => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (!found) return;
    const size = Number(found.size);
    if (found.ino === readUpTo.inode && size === readUpTo.size) return;
    const from = found.ino === readUpTo.inode && size > readUpTo.size ? readUpTo.size : 0;
    const text = readFrom(file, from, size);
    const completeLength = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(0, completeLength).split('\n')) if (uuid.test(line)) ids.add(line);
    readUpTo = { inode: found.ino, size: from + completeLength };
  };

  const dropOldest = (): void => {
    if (ids.size <= 2 * minRemembered) return;
    refresh();
    for (const id of ids) {
      if (ids.size <= minRemembered) break;
      ids.delete(id);
    }
    rewrite(file, ids);
  };

  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  sync(dirname(file));
  refresh();
  // The next id would be appended to an incomplete last line, which a crash may have left: rewrite the file.
  if (statSync(file).size > readUpTo.size) rewrite(file, ids);
  return {
    has: (id) => {
      refresh();
      return ids.has(id);
    },
    add: (id) => {
      append(file, id);
      ids.add(id);
      dropOldest();
    },
  };
};
