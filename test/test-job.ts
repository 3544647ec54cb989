import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { deadline, loadFactor } from './fixtures/load-factor.ts';
import { NEXT_FILE, PROCESSOR_TIME } from './run-files.ts';

/**
 * The result of a test file. `reason` is why the file failed, if the cause is not the failure of a test. `output` is
 * what was printed.
 */
export type Outcome = {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** User and system time of the test file and of the processes that it has started, as far as they have ended. */
  readonly processorSeconds: number;
  readonly reason?: string;
  readonly output: string;
};

const DEFAULT_TIMEOUT_S = 120;
/**
 * After its last test, a process has to close its servers and connections. This is the maximum time for that on an idle
 * machine.
 */
const CLOSE_TIMEOUT_MS = 15_000;
const CHECK_INTERVAL_MS = 1_000;
/** The time between SIGTERM and SIGKILL for a process that must end. */
const KILL_DELAY_MS = 2_000;

const root = join(import.meta.dirname, '..');
const PROGRAM = join(import.meta.dirname, 'run-files.ts');

/** Returns the time limit in seconds that a comment `limit: <seconds>` in the file's first line sets; null if none. */
export const ownLimitOf = (file: string): number | null => {
  const seconds = /^\/\/ limit: (\d+)/.exec(readFileSync(join(root, file), 'utf8'))?.[1];
  return seconds === undefined ? null : Number(seconds);
};

/** Returns the time limit of a test file in seconds, for an idle machine. */
export const limitOf = (file: string): number => ownLimitOf(file) ?? DEFAULT_TIMEOUT_S;

type Counts = { readonly total: number; readonly passed: number; readonly skipped: number };

/**
 * Reads the counts from the summary that the test library uvu prints at the end of a file. @returns undefined if there
 * is no summary yet
 */
const countsIn = (output: string): Counts | undefined => {
  const found = [...output.matchAll(/^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)$/gm)].at(-1);
  return found && { total: Number(found[1]), passed: Number(found[2]), skipped: Number(found[3]) };
};

const hasFailed = (counts: Counts | undefined): boolean => !counts || counts.passed < counts.total;

/** Returns why a file failed, if the cause is not the failure of a test. `fault` is a problem with the whole process. */
const failureReason = (counts: Counts | undefined, fault: string | undefined): string | undefined => {
  if (fault) return fault;
  if (!counts) return 'gave no result';
  return counts.total + counts.skipped === 0 ? 'ran no test: does it end in test.run()?' : undefined;
};

/** The run of one file in a process that runs several. */
type FileRun = { readonly file: string; output: string; processorSeconds: number; readonly startedAt: number; endedAt?: number; readonly isOver: () => boolean };

const startOf = (file: string): FileRun => ({ file, output: '', processorSeconds: 0, startedAt: Date.now(), isOver: deadline(limitOf(file) * 1_000) });

/**
 * Returns the outcome of a file. A problem that does not belong to a test, such as a timeout, counts as one more failed
 * test. `fault` is a problem with the process in which the file was the last one.
 */
const outcomeOf = ({ file, output, processorSeconds, startedAt, endedAt = Date.now() }: FileRun, fault?: string): Outcome => {
  const counts = countsIn(output);
  const reason = failureReason(counts, fault);
  const { total = 0, passed = 0, skipped = 0 } = counts ?? {};
  const failed = total - passed + (reason ? 1 : 0);
  return { file, passed, skipped, failed, seconds: (endedAt - startedAt) / 1_000, processorSeconds, output, ...(reason && { reason }) };
};

/**
 * Returns what is wrong with the end of a process, or undefined. `how` is its exit code or signal. Exit code 1 is
 * expected if a test has failed.
 */
const endingFault = (runs: readonly FileRun[], how: string): string | undefined => {
  const counts = runs.map(({ output }) => countsIn(output));
  if (!counts.at(-1)) return `gave no result (${how})`;
  return how === 'code 0' || counts.some(hasFailed) ? undefined : `ended with ${how} after its tests`;
};

/** Returns the outcome of a file that was not started, because the process ended before. */
const notStarted = (file: string, previous: string): Outcome => ({
  ...{ file, passed: 0, skipped: 0, failed: 1, seconds: 0, processorSeconds: 0, output: '' },
  reason: `was not run, because the process ended in ${previous}`,
});

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

/** The processes that run test files now. */
export const activeProcesses = new Set<ChildProcess>();

/**
 * Runs test files one after another in one process with the environment `env`. Each file has its own time limit. If the
 * process ends early, the files that it has not run have failed.
 */
export const runJob = (files: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome[]> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, ...files], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    activeProcesses.add(child);
    const runs = [startOf(files[0]!)];
    let overdue: string | undefined;
    let closing: NodeJS.Timeout | undefined;
    const stop = (reason: string): void => {
      overdue ??= reason;
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), KILL_DELAY_MS).unref();
    };
    const limitCheck = setInterval(() => {
      const { file, isOver } = runs.at(-1)!;
      if (!overdue && !closing && isOver()) stop(`took longer than ${limitOf(file)} s, or the equivalent on a busy machine`);
    }, CHECK_INTERVAL_MS);
    const onLine = (line: string): void => {
      const current = runs.at(-1)!;
      if (line === NEXT_FILE) {
        current.endedAt = Date.now();
        runs.push(startOf(files[runs.length]!));
        return;
      }
      if (line.startsWith(PROCESSOR_TIME)) {
        current.processorSeconds = Number(line.slice(PROCESSOR_TIME.length));
        return;
      }
      current.output += `${line}\n`;
      const isSummary = line.startsWith('  Skipped:') && countsIn(current.output) !== undefined;
      if (closing || runs.length < files.length || !isSummary) return;
      closing = setTimeout(
        () => stop(`the process did not end within ${CLOSE_TIMEOUT_MS / 1_000} s: something was left open by ${files.join(' or ')}`),
        CLOSE_TIMEOUT_MS * loadFactor(),
      );
    };
    for (const stream of [child.stdout, child.stderr]) readLines(stream, onLine);
    child.once('close', (code, signal) => {
      clearInterval(limitCheck);
      clearTimeout(closing);
      activeProcesses.delete(child);
      const last = runs.at(-1)!;
      const fault = overdue ?? endingFault(runs, signal ? `signal ${signal}` : `code ${code}`);
      resolve([
        ...runs.map((run) => outcomeOf(run, run === last ? fault : undefined)),
        ...files.slice(runs.length).map((file) => notStarted(file, last.file)),
      ]);
    });
  });
