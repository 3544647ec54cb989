import { join } from 'node:path';
import { configureGlobal } from 'fast-check';
import { usedSeconds } from './processor-time.ts';

// Runs test files one after another in this process, so that modules that several of them import are loaded only once.
// test/test-process.ts starts this program, sends it the next file whenever one has ended, and reads its output: the
// summary of the tests that uvu prints, and then a line that begins with END_OF_FILE.

/** The message after the last file. */
export const NO_MORE_FILES = '';
export const END_OF_FILE = '=== end of the test file: ';

/** What the line at the end of a file says. */
export type FileEnd = {
  /** User and system time of the file, including the processes that it has started and that have ended. */
  readonly processorSeconds: number;
  /** The part of `processorSeconds` that went into importing the file, and modules that no earlier file has imported. */
  readonly importSeconds: number;
  /** The memory of this process, in bytes. */
  readonly memory: number;
  /** Why the file failed, if the cause is not the failure of a test. */
  readonly problem?: string;
};

/** The global variables that tell uvu to run tests only when `exec` is called, and which tests `exec` runs. */
type UvuGlobals = { UVU_DEFER?: number; UVU_QUEUE?: unknown[][] };

const globals = globalThis as UvuGlobals;
globals.UVU_DEFER = 1;
const { exec } = await import('uvu');
const { runFileCleanups, runProcessCleanups } = await import('./fixtures/after-last-test.ts');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Calls `onImported` before the first test. @returns why the file failed, if the cause is not the failure of a test */
const runFile = async (file: string, onImported: () => void): Promise<string | undefined> => {
  globals.UVU_QUEUE = [[null]];
  try {
    await import(join(import.meta.dirname, '..', file));
    onImported();
    await exec();
    await runFileCleanups();
    return undefined;
  } catch (error) {
    console.error(error);
    return `could not be run, or left something that could not be closed: ${messageOf(error)}`;
  } finally {
    // uvu sets it when a test fails. The parent process counts the tests itself.
    process.exitCode = 0;
  }
};

// Random cases of fast-check begin with the seed of the run, so that a run can be repeated.
if (process.env.TEST_SEED) configureGlobal({ seed: Number(process.env.TEST_SEED) });

let used = 0;

const runAndReport = async (file: string): Promise<void> => {
  let importSeconds = 0;
  const problem = await runFile(file, () => {
    importSeconds = usedSeconds() - used;
  });
  const total = usedSeconds();
  const end: FileEnd = { processorSeconds: total - used, importSeconds, memory: process.memoryUsage.rss(), ...(problem && { problem }) };
  used = total;
  console.log(`${END_OF_FILE}${JSON.stringify(end)}`);
};

/** A process that has not ended after this time prints what keeps it alive. */
const DIAGNOSIS_DELAY_MS = 10_000;

const endProcess = async (): Promise<void> => {
  let step = 'waits for what its files share to be closed';
  const diagnose = () => console.log(`the process ${step}; open: ${process.getActiveResourcesInfo().join(', ')}`);
  setTimeout(diagnose, DIAGNOSIS_DELAY_MS).unref();
  await runProcessCleanups();
  step = 'has closed what its files share';
  process.disconnect?.();
};

if (process.send) {
  let running = Promise.resolve();
  process.on('message', (file: string) => {
    running = running.then(() => (file === NO_MORE_FILES ? endProcess() : runAndReport(file)));
  });
}
