import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// Runs test files one after another in this process, so that modules that several of them import are loaded only once.
// test/run.ts starts this program with the files as arguments, and reads its output: after each file, the summary of its
// tests that uvu prints, and the processor time that the file has used; before each further file a line with NEXT_FILE.

export const NEXT_FILE = '=== next test file';

/** Begins the line that contains the processor time of a file, in seconds. */
export const PROCESSOR_TIME = '=== processor time: ';

const CLOCK_TICKS_PER_SECOND = 100;

/**
 * Returns the processor time (user and system) in seconds that this process has used, and its ended child processes
 * with theirs. Without Linux's /proc, child processes do not count.
 */
const usedSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedChildrenSeconds();
};

const endedChildrenSeconds = (): number => {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  // cutime and cstime, the fields 16 and 17 of proc(5); the part after the name begins with field 3.
  return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS_PER_SECOND;
};

/** The global variables that tell uvu to run tests only when `exec` is called, and which tests `exec` runs. */
type UvuGlobals = { UVU_DEFER?: number; UVU_QUEUE?: unknown[][] };

/** @returns the exit code: 1 if a test has failed, or if a file cannot be loaded */
const runFiles = async (files: readonly string[]): Promise<number> => {
  const globals = globalThis as UvuGlobals;
  globals.UVU_DEFER = 1;
  const { exec } = await import('uvu');
  const { runLastCleanups } = await import('./fixtures/after-last-test.ts');
  let code = 0;
  let used = 0;
  const reportProcessorTime = (): void => {
    const total = usedSeconds();
    console.log(`${PROCESSOR_TIME}${(total - used).toFixed(2)}`);
    used = total;
  };
  for (const [index, file] of files.entries()) {
    if (index > 0) {
      reportProcessorTime();
      console.log(NEXT_FILE);
    }
    globals.UVU_QUEUE = [[null]];
    try {
      await import(join(import.meta.dirname, '..', file));
      await exec();
      code ||= Number(process.exitCode ?? 0);
    } catch (error) {
      console.error(error);
      code = 1;
    }
  }
  await runLastCleanups();
  process.once('exit', reportProcessorTime);
  return code;
};

if (import.meta.main) process.exitCode = await runFiles(process.argv.slice(2));
