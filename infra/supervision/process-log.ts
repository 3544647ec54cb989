import { closeSync, copyFileSync, existsSync, openSync, readSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';

const MAX_LOG_BYTES = 10 * 1024 * 1024;
/** The number of earlier logs of a process that are kept. The latest is `<file>.1`, the oldest `<file>.4`. */
const KEPT_LOGS = 4;
const MAX_REASON_LENGTH = 300;

export const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

/** Renames `<file>.1` to `<file>.2`, and so on, so that the name `<file>.1` becomes free. The oldest log is overwritten. */
const shiftKeptLogs = (file: string): void => {
  for (let number = KEPT_LOGS - 1; number >= 1; number--)
    if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
};

/** If a log is larger than 10 MiB, renames it to `<file>.1`. The four latest of the earlier logs are kept. */
export const rotateLog = (file: string): void => {
  if (sizeOf(file) <= MAX_LOG_BYTES) return;
  shiftKeptLogs(file);
  renameSync(file, `${file}.1`);
};

/**
 * If a log to which a process is still writing is larger than 10 MiB, copies it to `<file>.1` (see `rotateLog`) and
 * truncates it. The process has opened the log for appending, so its next line is at the start of the empty file. If
 * the disk has no space for the copy, the lines are lost.
 */
export const truncateLog = (file: string): void => {
  if (sizeOf(file) <= MAX_LOG_BYTES) return;
  shiftKeptLogs(file);
  try {
    copyFileSync(file, `${file}.1`);
  } catch {
    rmSync(`${file}.1`, { force: true });
  }
  truncateSync(file);
};

export const textSince = (file: string, offset: number): string => {
  const length = sizeOf(file) - offset;
  if (length <= 0) return '';
  const bytes = Buffer.alloc(length);
  const fd = openSync(file, 'r');
  const read = readSync(fd, bytes, 0, length, offset);
  closeSync(fd);
  return bytes.toString('utf8', 0, read);
};

const messageIn = (line: string): string => {
  if (!line.startsWith('{')) return line;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    return err?.message ?? msg ?? line;
  } catch {
    return line;
  }
};

/**
 * Returns the line of a log that best explains why the process ended. This is the last line that mentions an error or,
 * if there is none, the last line.
 */
export const reasonIn = (text: string): string => {
  const lines = text.trimEnd().split('\n');
  return messageIn(lines.findLast((line) => /error|fatal|annals:/i.test(line)) ?? lines.at(-1) ?? '').slice(0, MAX_REASON_LENGTH);
};
