import { join } from 'node:path';
import { loadFactor } from '../fixtures/load-factor.ts';
import type { TestProcess } from '../test-process.ts';
import type { TestRun } from './mutant-services.ts';
import type { Place } from './places.ts';
import { type WorkingCopy, whileChanged } from './working-copy.ts';

/** A test file may take this time, and several times the time that it takes without a mutant, on an idle machine. */
const MIN_TIMEOUT_MS = 20_000;
const TIMEOUT_FACTOR = 5;

/** A test file to run, and the time that it takes without a mutant. */
export type TestToRun = { readonly file: string; readonly seconds: number };

/** Runs a test file. If it takes too long, as in an endless loop, kills its process. @returns whether it fails */
const fails = async (used: TestProcess, { file, seconds }: TestToRun): Promise<boolean> => {
  const limit = (MIN_TIMEOUT_MS + TIMEOUT_FACTOR * 1_000 * seconds) * loadFactor();
  const timer = setTimeout(() => used.kill(), limit);
  try {
    return (await used.run(file)).failed > 0;
  } finally {
    clearTimeout(timer);
  }
};

/** Runs test files in one process until one fails. @returns that file */
const firstFailure = async (copy: WorkingCopy, env: NodeJS.ProcessEnv, tests: readonly TestToRun[]): Promise<string | undefined> => {
  let used = copy.startTestProcess(env);
  for (const test of tests) {
    if (await fails(used, test)) {
      // An ordinary end stores the compiled modules for the next process.
      await used.close();
      return test.file;
    }
    if (used.isUsable() || test === tests.at(-1)) continue;
    await used.close();
    used = copy.startTestProcess(env);
  }
  return (await used.close()) === undefined ? undefined : tests.at(-1)!.file;
};

/** Runs test files with the change at a place until one of them fails. @returns that file, or undefined */
export const findFailure = async (
  copy: WorkingCopy,
  run: TestRun,
  place: Place,
  tests: readonly TestToRun[],
): Promise<string | undefined> => {
  if (tests.length === 0) return undefined;
  const env = { ...run.env, NODE_COMPILE_CACHE: join(copy.dir, 'compiled') };
  try {
    return await whileChanged(copy, [place], () => firstFailure(copy, env, tests));
  } finally {
    await run.clear();
  }
};
