import { closeSync, mkdirSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** @throws Refusal invalid, too_large, or the error of the broker */
export type PublishResult = (result: unknown) => Promise<void>;

/** Publishes all valid lines; returns the problem with the first that is not, or null. @throws the error of the broker */
export const publishLines = async (lines: readonly string[], publish: PublishResult): Promise<string | null> => {
  let fault: string | null = null;
  for (const line of lines) {
    if (line.trim() === '') continue;
    try {
      await publish(JSON.parse(line));
    } catch (error) {
      const { name, message, code } = error as Error & { code?: string };
      if (name !== 'SyntaxError' && code !== 'invalid' && code !== 'too_large') throw error;
      fault ??= message;
    }
  }
  return fault;
};

/** How often the results that a command has written are published, in milliseconds. */
const INTERVAL_MS = 1_000;
const CHUNK_BYTES = 1_048_576;

const readFrom = (path: string, offset: number): Uint8Array => {
  const file = openSync(path, 'r');
  try {
    const chunks: Uint8Array[] = [];
    for (let at = offset; ; ) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const count = readSync(file, chunk, 0, CHUNK_BYTES, at);
      if (count === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, count));
      at += count;
    }
  } finally {
    closeSync(file);
  }
};

const LINE_FEED = 0x0a;

/** The number of files that this process has created. */
let count = 0;

/**
 * Creates an empty file that only the owner can read, and calls `work` with the absolute path of the file. The lines
 * that are added to the file are published, while `work` runs and when it has ended; then the file is removed.
 * @returns the result of `work`, and the problem with the first line that is not a valid result
 */
export const withResultFile = async <T>(
  dir: string,
  publish: PublishResult,
  work: (path: string) => Promise<T>,
): Promise<{ readonly ended: T; readonly fault: string | null }> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = resolve(dir, `${process.pid}.${++count}.results.jsonl`);
  writeFileSync(path, '', { mode: 0o600 });
  let offset = 0;
  let fault: string | null = null;

  /** A last line without a line feed may be incomplete, and waits until the command has ended (`isComplete`). */
  const publishAdded = async (isComplete: boolean): Promise<void> => {
    const added = readFrom(path, offset);
    const length = isComplete ? added.length : added.lastIndexOf(LINE_FEED) + 1;
    const found = await publishLines(new TextDecoder().decode(added.subarray(0, length)).split('\n'), publish);
    fault ??= found;
    offset += length;
  };

  let publishing = Promise.resolve();
  const timer = setInterval(() => {
    // If the broker cannot be reached, the lines are published later: at the latest when the command has ended.
    publishing = publishing.then(() => publishAdded(false)).catch(() => {});
  }, INTERVAL_MS);
  try {
    const ended = await work(path);
    clearInterval(timer);
    await publishing;
    await publishAdded(true);
    return { ended, fault };
  } finally {
    clearInterval(timer);
    await publishing;
    rmSync(path, { force: true });
  }
};
