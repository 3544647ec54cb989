import type { FileEnd } from './run-files.ts';

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
  /** User and system time of the file and of the processes that it has started, as far as they have ended. */
  readonly processorSeconds: number;
  /** The part of `processorSeconds` that depends on which files the process has run before: importing modules. */
  readonly importSeconds: number;
  readonly reason?: string;
  readonly output: string;
};

type Counts = { readonly total: number; readonly passed: number; readonly skipped: number };

/**
 * Reads the counts from the summary that the test library uvu prints at the end of a file. @returns undefined if there
 * is no summary yet
 */
const countsIn = (output: string): Counts | undefined => {
  const found = [...output.matchAll(/^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)$/gm)].at(-1);
  return found && { total: Number(found[1]), passed: Number(found[2]), skipped: Number(found[3]) };
};

/** Returns why a file failed, if the cause is not the failure of a test. `fault` is a problem with the process. */
const failureReason = (counts: Counts | undefined, fault: string | undefined): string | undefined => {
  if (fault) return fault;
  if (!counts) return 'gave no result';
  return counts.total + counts.skipped === 0 ? 'ran no test: does it end in test.run()?' : undefined;
};

/** What is known of a test file when it has ended, or when its process has. */
export type FileRun = {
  readonly file: string;
  readonly output: string;
  readonly startedAt: number;
  readonly end?: FileEnd;
  /** What is wrong with the process in which the file ran. */
  readonly fault?: string | undefined;
};

/** Returns the outcome of a file. A problem that does not belong to a test, such as a timeout, counts as a failed test. */
export const outcomeOf = ({ file, output, startedAt, end, fault }: FileRun): Outcome => {
  const counts = countsIn(output);
  const reason = failureReason(counts, fault ?? end?.problem);
  const { total = 0, passed = 0, skipped = 0 } = counts ?? {};
  const failed = total - passed + (reason ? 1 : 0);
  const seconds = (Date.now() - startedAt) / 1_000;
  const { processorSeconds = 0, importSeconds = 0 } = end ?? {};
  return { file, passed, skipped, failed, seconds, processorSeconds, importSeconds, output, ...(reason && { reason }) };
};
