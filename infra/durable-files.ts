import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';

/** @throws Error if not all bytes can be written */
export const writeAll = (file: number, bytes: Buffer, at: number): void => {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done, bytes.length - done, at + done);
};

/** Reads until the buffer is full or the file ends. Returns the part that was filled. */
export const readInto = (bytes: Buffer, file: number, at: number): Buffer => {
  let done = 0;
  while (done < bytes.length) {
    const count = fs.readSync(file, bytes, done, bytes.length - done, at + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
};

/** Reads `length` bytes from offset `at`, or fewer if the file ends earlier. */
export const readUpTo = (file: number, at: number, length: number): Buffer => readInto(Buffer.allocUnsafe(length), file, at);

/**
 * Removes the `code` of errors: after a failed sync, the content of the disk is unknown, so a caller must not take it for a full disk (see
 * `isDiskFull`) and continue later.
 */
const withoutErrorCode =
  (sync: (file: number) => void) =>
  (file: number): void => {
    try {
      sync(file);
    } catch (error) {
      throw new Error(`a sync failed: ${error}`, { cause: error });
    }
  };

/** Flushes a file's bytes and metadata to the disk. @throws Error; after it, the content on the disk is unknown */
export const syncFile = withoutErrorCode((file) => fs.fsyncSync(file));
/** Does the same as `syncFile`, except that of the file's metadata only the size is flushed. */
export const syncBytes = withoutErrorCode((file) => fs.fdatasyncSync(file));

/** Flushes a directory, so that files created or renamed in it survive a power failure. */
export const syncDirectory = (path: string): void => {
  const file = fs.openSync(path, 'r');
  try {
    syncFile(file);
  } finally {
    fs.closeSync(file);
  }
};

/** Creates a directory and its missing parents, and flushes them, so that they survive a power failure. */
export const makeDirectory = (path: string): void => {
  const firstCreated = fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined) return;
  for (let created = resolve(path); created.length >= resolve(firstCreated).length; created = dirname(created))
    syncDirectory(dirname(created));
};

/** Replaces a file atomically: a reader sees either the old or the new content. */
export const replaceFile = (path: string, text: string | Buffer, mode = 0o600): void => {
  const next = `${path}.next`;
  const file = fs.openSync(next, 'w', mode);
  try {
    writeAll(file, Buffer.from(text), 0);
    syncFile(file);
  } finally {
    fs.closeSync(file);
  }
  fs.renameSync(next, path);
};

const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** Returns whether an error means that the disk, the quota or the maximum file size is used up. */
export const isDiskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && DISK_FULL_CODES.has(String(error.code));

/** The trimmed text; undefined if the file does not exist. */
export const readText = (path: string): string | undefined => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8').trim() : undefined);

/** Undefined if the file does not exist or is not valid JSON, for example because a full disk has truncated it. */
export const readJson = <T>(path: string): T | undefined => {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
};
