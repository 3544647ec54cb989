import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { createBackoff } from '../backoff.ts';

const STDOUT = 1;
/** The maximum number of characters that may wait for a slow reader of the log. Further lines are dropped. */
const MAX_BUFFERED = 4 << 20;
const RETRY = { minMs: 5, maxMs: 100 };
/** `writeLater` collects lines for this many milliseconds before it writes them. */
const COLLECT_MS = 100;
/** The maximum time, in milliseconds, that an exiting process waits for a slow reader of the log. */
const EXIT_TIMEOUT_MS = 500;
const EXIT_POLL_MS = 10;
const EMPTY = Buffer.alloc(0);

const sleepSync = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** A write then fails with EAGAIN instead of waiting for a slow reader. Returns the file descriptor. */
const openOutput = (): number => {
  // Reading `process.stdout` makes Node switch a pipe or socket to non-blocking writes. Writes to a file never wait.
  if (!isatty(STDOUT)) return process.stdout.fd;
  try {
    // The shell shares the terminal's descriptor and expects that writes to it block: open a separate one.
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
};

export type LogOutput = {
  /** Writes a line at the end of the current turn of the event loop, after all lines that were passed before it. */
  readonly write: (line: string) => void;
  /** Writes a line within 100 ms, together with other lines. If the process is killed before that, the line is lost. */
  readonly writeLater: (line: string) => void;
};

const openLogOutput = (): LogOutput => {
  const output = openOutput();
  const backoff = createBackoff(RETRY);
  let buffered = '';
  let unwritten: Buffer = EMPTY;
  let isScheduled = false;
  let collecting: NodeJS.Timeout | undefined;

  /** Returns false if the reader is too slow and some lines still wait. */
  const writeBuffered = (): boolean => {
    while (unwritten.length > 0 || buffered !== '') {
      if (unwritten.length === 0) {
        unwritten = Buffer.from(buffered);
        buffered = '';
      }
      try {
        unwritten = unwritten.subarray(writeSync(output, unwritten));
        backoff.reset();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
        unwritten = EMPTY;
      }
    }
    return true;
  };

  const flush = (): void => {
    clearTimeout(collecting);
    collecting = undefined;
    isScheduled = !writeBuffered();
    if (isScheduled) setTimeout(flush, backoff.next());
  };

  process.on('exit', () => {
    const deadline = performance.now() + EXIT_TIMEOUT_MS;
    while (!writeBuffered() && performance.now() < deadline) sleepSync(EXIT_POLL_MS);
  });

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    // Write at the end of the turn of the event loop, so that all its lines are written together.
    setImmediate(flush);
  };

  const append = (line: string): void => {
    if (buffered.length < MAX_BUFFERED) buffered += line;
  };

  return {
    write: (line) => {
      append(line);
      schedule();
    },
    writeLater: (line) => {
      append(line);
      if (!isScheduled) collecting ??= setTimeout(schedule, COLLECT_MS).unref();
    },
  };
};

let opened: LogOutput | undefined;

/**
 * Returns the output for logs to standard output, which all loggers of a process share. Lines are written in order, at
 * the latest when the process exits. Logging never waits: if the disk is full, or the reader is gone or too slow, lines
 * are dropped.
 */
export const nonblockingStdout = (): LogOutput => {
  opened ??= openLogOutput();
  return opened;
};

/** The exit code that a shell reports for a program killed by SIGPIPE. */
const EXIT_BROKEN_PIPE = 141;
let ignoresBrokenPipe = false;

/** The process continues when its output cannot be written. */
export const ignoreBrokenPipe = (): void => {
  ignoresBrokenPipe = true;
};

/**
 * Ends the process when its output cannot be written: without a text if the reader has closed the pipe, and otherwise
 * after printing the reason with `printError`. Has no effect after `ignoreBrokenPipe`.
 */
export const watchOutput = (printError: (line: string) => void): void => {
  const onError = ({ code }: NodeJS.ErrnoException): void => {
    if (ignoresBrokenPipe) return;
    if (code === 'EPIPE') process.exit(EXIT_BROKEN_PIPE);
    printError(`the output cannot be written: ${code}`);
    process.exit(1);
  };
  for (const stream of [process.stdout, process.stderr]) stream.on('error', onError);
};
