import { join } from 'node:path';

// Runs test files one after another in this process, so that modules that several of them import are loaded only once.
// test/run.ts starts this program with the files as arguments, and reads its output: after each file, the summary of its
// tests that uvu prints, and before each further file a line with NEXT_FILE.

export const NEXT_FILE = '=== next test file';

/** The global variables that tell uvu to run tests only when `exec` is called, and which tests `exec` runs. */
type UvuGlobals = { UVU_DEFER?: number; UVU_QUEUE?: unknown[][] };

/** @returns the exit code: 1 if a test has failed, or if a file cannot be loaded */
const runFiles = async (files: readonly string[]): Promise<number> => {
  const globals = globalThis as UvuGlobals;
  globals.UVU_DEFER = 1;
  const { exec } = await import('uvu');
  const { runLastCleanups } = await import('./fixtures/after-last-test.ts');
  let code = 0;
  for (const [index, file] of files.entries()) {
    if (index > 0) console.log(NEXT_FILE);
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
  return code;
};

if (import.meta.main) process.exitCode = await runFiles(process.argv.slice(2));
