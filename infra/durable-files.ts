import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Writes all of it, or throws. */
export const writeAll = (file: number, bytes: Buffer, at: number): void => {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done, bytes.length - done, at + done);
};

/** Fills the buffer from an offset on, as far as the file goes. */
export const readInto = (bytes: Buffer, file: number, at: number): Buffer => {
  let done = 0;
  while (done < bytes.length) {
    const got = fs.readSync(file, bytes, done, bytes.length - done, at + done);
    if (got === 0) break;
    done += got;
  }
  return bytes.subarray(0, done);
};

/** As many bytes as the file has there, up to `length`. */
export const readUpTo = (file: number, at: number, length: number): Buffer => readInto(Buffer.allocUnsafe(length), file, at);

/** What a failed sync leaves on the disk is not known: nobody shall take it for a full disk, though the system may call it so. */
const fatalOnError =
  (sync: (file: number) => void) =>
  (file: number): void => {
    try {
      sync(file);
    } catch (error) {
      throw new Error(`a sync failed: ${error}`, { cause: error });
    }
  };

export const syncFile = fatalOnError((file) => fs.fsyncSync(file));
/** The bytes, and of the rest only the size. */
export const syncBytes = fatalOnError((file) => fs.fdatasyncSync(file));

export const syncDirectory = (path: string): void => {
  const file = fs.openSync(path, 'r');
  try {
    syncFile(file);
  } finally {
    fs.closeSync(file);
  }
};

/** Makes a directory that is still there after a power cut, and those above it that are not there. */
export const makeDirectory = (path: string): void => {
  const first = fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= resolve(first).length; made = dirname(made)) syncDirectory(dirname(made));
};

/** Replaces the file in one step, so that a reader sees the old or the new text. */
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
export const isDiskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && DISK_FULL_CODES.has(String(error.code));

/** The text of a file without the blanks around it; nothing where it is not there. */
export const readText = (path: string): string | undefined => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8').trim() : undefined);

/** What a JSON file of ours says; nothing where it is not there, or a full disk has cut it off. */
export const readJson = <T>(path: string): T | undefined => {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
};
