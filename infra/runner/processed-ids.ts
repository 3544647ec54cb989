import { closeSync, fdatasyncSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a runner has done: ids of events, on disk before they are acknowledged. */
export type Ledger = { readonly has: (id: string) => boolean; readonly add: (id: string) => void };

const KEEP = 100_000;
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

/** Replaces the file as a whole, or not at all. */
const rewrite = (file: string, ids: Iterable<string>): void => {
  const next = `${file}.next`;
  const handle = openSync(next, 'w', 0o600);
  writeSync(handle, [...ids, ''].join('\n'));
  fsyncSync(handle);
  closeSync(handle);
  renameSync(next, file);
  sync(dirname(file));
};

/** Writes a line at the end, on disk when this returns. */
const append = (file: string, id: string): void => {
  const handle = openSync(file, 'a', 0o600);
  try {
    writeSync(handle, `${id}\n`);
    fdatasyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/** Opens the ledger of one agent's runners on this machine, which may share it. It keeps the last `keep` ids at least. */
export const openLedger = (file: string, keep = KEEP): Ledger => {
  const ids = new Set<string>();
  let known = { inode: 0n, size: 0 };

  /** What another runner of the same agent has written meanwhile. */
  const refresh = (): void => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (!found) return;
    const size = Number(found.size);
    if (found.ino === known.inode && size === known.size) return;
    const from = found.ino === known.inode && size > known.size ? known.size : 0;
    const text = readFrom(file, from, size);
    const whole = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(0, whole).split('\n')) if (uuid.test(line)) ids.add(line);
    known = { inode: found.ino, size: from + whole };
  };

  const forget = (): void => {
    if (ids.size <= 2 * keep) return;
    refresh();
    for (const id of ids) {
      if (ids.size <= keep) break;
      ids.delete(id);
    }
    rewrite(file, ids);
  };

  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  sync(dirname(file));
  refresh();
  // A line that a crash tore would join the next one.
  if (statSync(file).size > known.size) rewrite(file, ids);
  return {
    has: (id) => {
      refresh();
      return ids.has(id);
    },
    add: (id) => {
      append(file, id);
      ids.add(id);
      forget();
    },
  };
};
