import { runQueue, type Worker } from '../run-queue.ts';
import type { Coverage } from './coverage.ts';
import type { TestServices } from './mutant-services.ts';
import type { Place } from './places.ts';
import { type Importers, reachOf } from './reach.ts';
import type { Verdict } from './report.ts';
import { findFailure } from './test-mutant.ts';
import { makeWorkingCopy } from './working-copy.ts';

/** What is needed to judge mutants. `maxTests` is the maximum number of test files that run for one mutant. */
export type Judging = {
  readonly services: TestServices;
  readonly coverage: Coverage;
  readonly importers: Importers;
  readonly maxTests: number;
  readonly onVerdict: (verdict: Verdict) => void;
};

/** Runs test files until one fails. @returns that file */
type RunTests = (files: readonly string[]) => Promise<string | undefined>;

const judge = async ({ coverage, importers, maxTests }: Judging, place: Place, runTests: RunTests): Promise<Verdict> => {
  const { near, far } = reachOf(coverage, importers, place);
  const all = [...near, ...far];
  const known = coverage.tests.length;
  if (all.length === 0) return { place, noticedBy: 'not executed', known };
  const files = all.slice(0, maxTests);
  const test = await runTests(files);
  if (test === undefined) return { place, noticedBy: 'nobody', known, reaching: all.length, ran: files.length };
  return { place, noticedBy: near.includes(test) ? 'near tests' : 'npm test', test };
};

/** Opens a worker that tests one mutant after another in its own copy. */
const openWorker = (judging: Judging): Worker<Place> => {
  const opened = Promise.all([makeWorkingCopy(), judging.services.openRun()]);
  const secondsOf = new Map(judging.coverage.tests.map(({ file, seconds }) => [file, seconds]));
  const run = async (place: Place): Promise<void> => {
    const [copy, testRun] = await opened;
    const runTests: RunTests = (files) =>
      findFailure(
        copy,
        testRun,
        place,
        files.map((file) => ({ file, seconds: secondsOf.get(file) ?? 0 })),
      );
    judging.onVerdict(await judge(judging, place, runTests));
  };
  return { run, close: async () => (await opened)[0].remove() };
};

/** Runs the test files that call the places, with one change at a time. */
export const judgeAll = (judging: Judging, places: readonly Place[]): Promise<void> => runQueue(places, () => openWorker(judging));
