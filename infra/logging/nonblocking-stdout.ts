import { write, writeSync } from 'node:fs';

const STDOUT = 1;
/** So many characters wait for a reader that is slow; what comes then is left out. */
const MAX_BUFFERED = 4 << 20;
const BUSY_MS = 100;

/**
 * Standard output of a log, which nothing waits for: what cannot be written, because the disk is full or the reader has gone, is left out,
 * and neither holds up nor ends the process that it tells of.
 */
export const nonblockingStdout = (): { write(line: string): void } => {
  let held = '';
  let isWriting = false;

  const next = (): void => {
    isWriting = held !== '';
    if (!isWriting) return;
    const bytes = Buffer.from(held);
    held = '';
    put(bytes);
  };

  const put = (bytes: Buffer): void =>
    write(STDOUT, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') return void setTimeout(put, BUSY_MS, bytes);
      if (!error && written < bytes.length) return put(bytes.subarray(written));
      next();
    });

  process.on('exit', () => {
    try {
      writeSync(STDOUT, held);
    } catch {
      // There is no room for it, and no time to wait.
    }
  });
  return {
    write: (line) => {
      if (held.length < MAX_BUFFERED) held += line;
      if (isWriting) return;
      isWriting = true;
      // After this turn, so that its lines leave in one write, and those of a turn that ends the process are still here.
      setImmediate(next);
    },
  };
};

/** As the shell counts a program that wrote to a pipe nobody reads. */
const READER_LEFT = 141;
let outlasts = false;

/** From now on the process goes on where its output cannot be written. */
export const ignoreBrokenPipe = (): void => {
  outlasts = true;
};

/** Ends a process that only prints when its output cannot be written: in silence where the reader has left, else with a line. */
export const watchOutput = (say: (line: string) => void): void => {
  const failed = ({ code }: NodeJS.ErrnoException): void => {
    if (outlasts) return;
    if (code === 'EPIPE') process.exit(READER_LEFT);
    say(`the output cannot be written: ${code}`);
    process.exit(1);
  };
  for (const stream of [process.stdout, process.stderr]) stream.on('error', failed);
};
