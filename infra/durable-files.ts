import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Writes all bytes at an offset. @throws if the system does not accept all of them */
export const writeAll = (file: number, bytes: Buffer, at: number): void => {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done, bytes.length - done, at + done);
};

/** Fills the buffer from an offset. @returns the part that was filled, shorter at the end of the file */
export const readInto = (bytes: Buffer, file: number, at: number): Buffer => {
  let done = 0;
  while (done < bytes.length) {
    const count = fs.readSync(file, bytes, done, bytes.length - done, at + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
};

/** Reads up to `length` bytes from an offset, fewer at the end of the file. */
export const readUpTo = (file: number, at: number, length: number): Buffer => readInto(Buffer.allocUnsafe(length), file, at);

/**
 * After a failed sync it is unknown what is on the disk. The error hides the system's code, so that no caller takes it
 * for a full disk, which can be survived.
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

/** Writes a file's bytes and metadata to the disk. @throws Error after which the content on the disk is unknown */
export const syncFile = withoutErrorCode((file) => fs.fsyncSync(file));
/** Like `syncFile`, but of the metadata it writes only the size. */
export const syncBytes = withoutErrorCode((file) => fs.fdatasyncSync(file));

/** Writes a directory's entries to the disk. */
export const syncDirectory = (path: string): void => {
  const file = fs.openSync(path, 'r');
  try {
    syncFile(file);
  } finally {
    fs.closeSync(file);
  }
};

/** Creates a directory and its missing parents, so that they survive a power failure. */
export const makeDirectory = (path: string): void => {
  const firstCreated = fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined) return;
  for (let created = resolve(path); created.length >= resolve(firstCreated).length; created = dirname(created))
    syncDirectory(dirname(created));
};

/** Replaces a file in one step: a reader sees either the old or the new content. */
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
/** Whether an error means that the disk, the quota or the maximum file size is exhausted. */
export const isDiskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && DISK_FULL_CODES.has(String(error.code));

/** The trimmed text of a file; undefined if it does not exist. */
export const readText = (path: string): string | undefined => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8').trim() : undefined);

/** The content of a JSON file that we wrote; undefined if it does not exist or a full disk has truncated it. */
export const readJson = <T>(path: string): T | undefined => {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
};
