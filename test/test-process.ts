import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type Outcome, outcomeOf } from './file-outcome.ts';
import { deadline, loadFactor } from './fixtures/load-factor.ts';
import { makeTempDirectory } from './fixtures/temp-directory.ts';
import { END_OF_FILE, type FileEnd, NO_MORE_FILES } from './run-files.ts';
import { killProcesses, processesWith, remainingProcesses, runningPids } from './started-processes.ts';
import { limitOf } from './test-files.ts';

/** A process that ends, after its last file, has to close its connections within this time, on an idle machine. */
const CLOSE_TIMEOUT_MS = 15_000;
const CHECK_INTERVAL_MS = 1_000;
/** The time between SIGTERM and SIGKILL for a process that must end. */
const KILL_DELAY_MS = 2_000;
/** The time within which the processes that a file has started must have ended after it, on an idle machine. */
const PROCESS_END_TIMEOUT_MS = 5_000;
/** A process that uses more memory than this runs no further file. */
const MAX_MEMORY = 1.2e9;

const root = join(import.meta.dirname, '..');
const PROGRAM = join(import.meta.dirname, 'run-files.ts');

/** Calls `onLine` with each line of a stream, without the characters that control the terminal. */
const readLines = (stream: NodeJS.ReadableStream, onLine: (line: string) => void): void => {
  let rest = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    const lines = (rest + stripVTControlCharacters(part)).split('\n');
    rest = lines.pop()!;
    lines.forEach(onLine);
  });
  stream.once('end', () => rest !== '' && onLine(rest));
};

/** The test process that runs a file now: what the file has printed, and what is called at its end. */
type Current = { readonly file: string; output: string; readonly onEnd: (end: FileEnd | undefined, fault?: string) => void };

/** A process that runs test files, one at a time. */
export type TestProcess = {
  /** Resolves when the file has ended, or when the process has ended during the file. */
  readonly run: (file: string) => Promise<Outcome>;
  /** Whether the process can run another file. */
  readonly isUsable: () => boolean;
  /**
   * Asks the process to end. @returns what is wrong with its end, if a file left something open. A process that has ended
   * during a file is known already
   */
  readonly close: () => Promise<string | undefined>;
  /** Kills the process and everything that its files have started. */
  readonly kill: () => void;
};

/** The processes that run test files now. */
export const activeProcesses = new Set<TestProcess>();

const describe = (processes: readonly { command: string }[]): string => processes.map(({ command }) => command.slice(0, 200)).join('; ');

/** Starts a process for test files, with the environment `env` and its own temporary directory. */
export const startTestProcess = (env: NodeJS.ProcessEnv): TestProcess => {
  const dir = makeTempDirectory();
  const child: ChildProcess = spawn(process.execPath, [PROGRAM], {
    cwd: root,
    env: { ...env, TMPDIR: dir },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let current: Current | undefined;
  /** What the process has printed outside of its files. */
  let lastOutput = '';
  const files: string[] = [];
  let hasEnded = false;
  let memory = 0;
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => {
      hasEnded = true;
      resolve(signal ? `signal ${signal}` : `code ${code}`);
    });
  });
  const onLine = (line: string): void => {
    if (!current) lastOutput += `\n${line}`;
    else if (!line.startsWith(END_OF_FILE)) current.output += `${line}\n`;
    else current.onEnd(JSON.parse(line.slice(END_OF_FILE.length)) as FileEnd);
  };
  for (const stream of [child.stdout!, child.stderr!]) readLines(stream, onLine);

  const stopChild = (): void => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), KILL_DELAY_MS).unref();
  };
  const kill = (): void => {
    child.kill('SIGKILL');
    killProcesses(processesWith(dir, []));
    rmSync(dir, { recursive: true, force: true });
    activeProcesses.delete(each);
  };

  /** Resolves with the end of the file and what is wrong with it. */
  const ending = (file: string): Promise<{ output: string; end?: FileEnd; fault?: string }> =>
    new Promise((resolve) => {
      let overdue: string | undefined;
      const isOver = deadline(limitOf(file) * 1_000);
      const check = setInterval(() => {
        if (overdue || !isOver()) return;
        overdue = `took longer than ${limitOf(file)} s, or the equivalent on a busy machine`;
        stopChild();
      }, CHECK_INTERVAL_MS);
      const running: Current = {
        file,
        output: '',
        onEnd: (end, fault) => {
          if (current !== running) return;
          clearInterval(check);
          current = undefined;
          const found = overdue ?? fault;
          resolve({ output: running.output, ...(end && { end }), ...(found && { fault: found }) });
        },
      };
      current = running;
      child.send(file, (error) => error && running.onEnd(undefined, `could not be started: ${error.message}`));
      void ended.then((how) => running.onEnd(undefined, `the process ended during this file (${how})`));
    });

  /** Those that ran when the last file was checked: what was started since belongs to the next one. */
  let earlier = runningPids();

  const run = async (file: string): Promise<Outcome> => {
    const startedAt = Date.now();
    files.push(file);
    const { output, end, fault } = await ending(file);
    memory = end?.memory ?? memory;
    const left = await remainingProcesses(dir, [child.pid, ...earlier], end ? PROCESS_END_TIMEOUT_MS * loadFactor() : 0);
    killProcesses(left);
    earlier = runningPids();
    const fromLeft = end && left.length > 0 ? `left processes running: ${describe(left)}` : undefined;
    return outcomeOf({ file, output, startedAt, fault: fault ?? fromLeft, ...(end && { end }) });
  };

  const close = async (): Promise<string | undefined> => {
    if (hasEnded) {
      kill();
      return undefined;
    }
    child.send(NO_MORE_FILES, () => {});
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      stopChild();
    }, CLOSE_TIMEOUT_MS * loadFactor());
    const how = await ended;
    clearTimeout(timer);
    kill();
    const fault = isLate ? `did not end within ${CLOSE_TIMEOUT_MS / 1_000} s: a file left something open` : `ended with ${how}`;
    return !isLate && how === 'code 0' ? undefined : `the process of ${files.join(', ')} ${fault}${lastOutput}`;
  };

  const each: TestProcess = { run, close, kill, isUsable: () => !hasEnded && memory < MAX_MEMORY };
  activeProcesses.add(each);
  return each;
};
