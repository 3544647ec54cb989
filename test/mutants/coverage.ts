import { appendFileSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runQueue, type Worker } from '../run-queue.ts';
import { selectedFiles } from '../test-files.ts';
import type { TestRun } from './mutant-services.ts';
import type { CoverageLine } from './record-coverage.ts';
import { hashOfCode, type WorkingCopy } from './working-copy.ts';

/** A test file of the quick ring, as it runs without a mutant. */
export type TestFile = { readonly file: string; readonly passes: boolean; readonly seconds: number };

/**
 * Which test files call which functions. In `calls`, the key of a source file leads to the ranges of its functions, as
 * `<start>-<end>`, and these to indexes of `tests`. A negative number, `-1 - index`, stands for a test file that has also
 * loaded the module, so the function may have been called by the module itself.
 */
export type Coverage = {
  /** The test files whose calls are known. */
  readonly tests: readonly TestFile[];
  readonly calls: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
};

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/annals/mutants');
const RESULTS = 'results.jsonl';

type Calls = Record<string, Record<string, number[]>>;

const addLine = (calls: Calls, { calls: called }: CoverageLine, index: number): void => {
  for (const [source, ranges] of Object.entries(called)) {
    const isLoaded = ranges.some(([start]) => start === 0);
    const ofSource = calls[source] ?? {};
    calls[source] = ofSource;
    for (const [start, end] of ranges) {
      const tests = ofSource[`${start}-${end}`] ?? [];
      ofSource[`${start}-${end}`] = tests;
      tests.push(isLoaded ? -1 - index : index);
    }
  }
};

/** Combines the results of the test files and the recorded lines. */
export const coverageOf = (tests: readonly TestFile[], lines: readonly CoverageLine[]): Coverage => {
  const calls: Calls = {};
  const indexOf = new Map(tests.map(({ file }, index) => [file, index]));
  for (const line of lines) {
    const index = indexOf.get(line.file);
    if (index !== undefined) addLine(calls, line, index);
  }
  return { tests, calls };
};

const linesOf = <T>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

const resultsIn = (directory: string): TestFile[] => {
  const results = globSync(join(directory, RESULTS)).flatMap(linesOf<TestFile>);
  return [...new Map(results.map((result) => [result.file, result])).values()];
};

const openRecorder = (copy: WorkingCopy, directory: string, { env }: TestRun): Worker<string> => {
  const NODE_OPTIONS = `--import ${pathToFileURL(join(copy.dir, 'test/mutants/record-coverage.ts')).href}`;
  // Functions from the compile cache would be recorded less exactly.
  const recorded = { ...env, NODE_OPTIONS, TEST_COVERAGE: directory, NODE_DISABLE_COMPILE_CACHE: '1' };
  let used = copy.startTestProcess(recorded);
  const run = async (file: string): Promise<void> => {
    if (!used.isUsable()) {
      await used.close();
      used = copy.startTestProcess(recorded);
    }
    const { failed, seconds } = await used.run(file);
    if (failed > 0) console.error(`${file} fails without a mutant, so it is left out`);
    appendFileSync(join(directory, RESULTS), `${JSON.stringify({ file, passes: failed === 0, seconds } satisfies TestFile)}\n`);
  };
  return { run, close: async () => void (await used.close()) };
};

/** The test files of the quick ring; first those in the folders of these areas, last those with a long time limit. */
const quickFiles = (areas: ReadonlySet<string>): string[] => {
  const files = selectedFiles({ rings: ['quick'], parts: [], shard: [1, 1], isAfterQuick: false }).reverse();
  const isFirst = (file: string): boolean => areas.has(file.split('/')[1]!);
  return [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))];
};

/**
 * Returns the coverage of the checkout's present code. Test files whose coverage is not in the cache run for at most
 * `minutes`; a later call continues with the others.
 */
export const findCoverage = async (copy: WorkingCopy, run: TestRun, areas: ReadonlySet<string>, minutes: number): Promise<Coverage> => {
  const directory = join(CACHE, hashOfCode());
  mkdirSync(directory, { recursive: true });
  const known = new Set(resultsIn(directory).map(({ file }) => file));
  const files = quickFiles(areas);
  const missing = files.filter((file) => !known.has(file));
  if (missing.length > 0) console.error(`recording which functions ${missing.length} of ${files.length} test files call`);
  const end = Date.now() + minutes * 60_000;
  await runQueue(missing, () => {
    const recorder = openRecorder(copy, directory, run);
    return { ...recorder, run: async (file) => (Date.now() < end ? recorder.run(file) : undefined) };
  });
  const results = resultsIn(directory);
  if (results.length < files.length)
    console.error(`only ${results.length} of ${files.length} test files are known: run again, or with more --minutes`);
  return coverageOf(results, globSync(join(directory, '[0-9]*.jsonl')).flatMap(linesOf<CoverageLine>));
};
