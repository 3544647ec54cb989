import { relative } from 'node:path';
import type { Outcome } from './file-outcome.ts';
import { processorLimitOf } from './processor-limits.ts';
import { usedSeconds } from './processor-time.ts';
import { QUICK_SHARE } from './run-options.ts';
import { RINGS, ringOf } from './test-files.ts';

const SLOWEST = 20;
/** A file is reported as too slow if it uses more than this many times its limit. */
const TOLERANCE = 2;

export type Counts = Pick<Outcome, 'passed' | 'failed' | 'skipped'>;

export const summary = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

/** Prints the result of a file and, if a test has failed, everything that the file has printed. */
export const reportFile = (outcome: Outcome): void => {
  const { file, seconds, processorSeconds, importSeconds, failed, reason, output } = outcome;
  const times = `${seconds.toFixed(1)} s, ${processorSeconds.toFixed(1)} s of processor time (${importSeconds.toFixed(1)} s to import)`;
  console.log(`${failed > 0 ? 'FAIL' : 'pass'}  ${file}  ${summary(outcome)}  ${times}`);
  if (reason) console.log(`      ${reason}`);
  if (failed > 0) console.log(output.trimEnd().replace(/^/gm, '    | '));
};

/**
 * Prints the files of the ring `quick` that have used much more processor time than they may. This is not a failure, because
 * other programs on the machine make the same work dearer.
 */
const reportDearFiles = (outcomes: readonly Outcome[]): void => {
  for (const { file, processorSeconds, importSeconds } of outcomes) {
    const used = processorSeconds - importSeconds;
    if (ringOf(file) !== 'quick' || used <= TOLERANCE * processorLimitOf(file)) continue;
    console.log(`too slow for npm test: ${file} used ${used.toFixed(1)} s of processor time, its limit is ${processorLimitOf(file)} s`);
  }
};

const sumOf = (outcomes: readonly Outcome[], field: 'passed' | 'failed' | 'skipped' | 'processorSeconds'): number =>
  outcomes.reduce((total, outcome) => total + outcome[field], 0);

const row = (seconds: number, text: string): string => `${seconds.toFixed(1).padStart(8)} s  ${text}`;

/** What a run has given. `shared` has the processor time of what all files use, by name. `seconds` is the duration. */
export type Results = {
  readonly outcomes: readonly Outcome[];
  readonly shared: ReadonlyMap<string, number>;
  readonly seconds: number;
  readonly share: string;
};

/** Prints where the processor time of a run went, and its result. @returns the counts of all files */
export const reportRun = ({ outcomes, shared, seconds, share }: Results): Counts => {
  const slowest = [...outcomes].sort((a, b) => b.processorSeconds - a.processorSeconds).slice(0, SLOWEST);
  console.log('\nProcessor time (user and system) of the slowest files');
  for (const { file, processorSeconds } of slowest) console.log(row(processorSeconds, file));
  if (share === QUICK_SHARE) reportDearFiles(outcomes);
  console.log('of the rings');
  for (const ring of RINGS) {
    const files = outcomes.filter(({ file }) => ringOf(file) === ring);
    if (files.length > 0) console.log(row(sumOf(files, 'processorSeconds'), `${ring} (${files.length} files)`));
  }
  console.log('of what all files share');
  for (const [name, used] of shared) console.log(row(used, name));
  const rest = usedSeconds() - sumOf(outcomes, 'processorSeconds') - [...shared.values()].reduce((sum, each) => sum + each, 0);
  console.log(row(rest, 'the runner, and the starts and ends of test processes'));
  const bad = outcomes.filter(({ failed }) => failed > 0).map(({ file }) => relative('test', file));
  const counts = { passed: sumOf(outcomes, 'passed'), failed: sumOf(outcomes, 'failed'), skipped: sumOf(outcomes, 'skipped') };
  console.log(`\n${outcomes.length} files in ${(seconds / 60).toFixed(1)} min${bad.length > 0 ? `; failures in ${bad.join(', ')}` : ''}`);
  console.log(summary(counts));
  return counts;
};
