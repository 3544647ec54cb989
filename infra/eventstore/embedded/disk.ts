import * as fs from 'node:fs';

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

export const syncDirectory = (path: string): void => {
  const file = fs.openSync(path, 'r');
  fs.fsyncSync(file);
  fs.closeSync(file);
};

/** Replaces the file in one step, so that a reader sees the old or the new text. */
export const replaceFile = (path: string, text: string | Buffer, mode = 0o600): void => {
  const next = `${path}.next`;
  const file = fs.openSync(next, 'w', mode);
  try {
    writeAll(file, Buffer.from(text), 0);
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
  fs.renameSync(next, path);
};

const full = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
export const diskFull = (error: unknown): boolean => error instanceof Error && 'code' in error && full.has(String(error.code));
