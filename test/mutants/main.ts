import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { usedSeconds } from '../processor-time.ts';
import { findCoverage } from './coverage.ts';
import { judgeAll } from './judge.ts';
import { startTestServices } from './mutant-services.ts';
import { choosePlaces, type Place, placesIn } from './places.ts';
import { areaOf, importersOfCheckout } from './reach.ts';
import { lineOf, recordsOf, sharesOf, type Verdict } from './report.ts';
import { errorFinder, findUncompilable } from './type-check.ts';
import { makeWorkingCopy, removeCopies, type WorkingCopy } from './working-copy.ts';

const USAGE = `npm run test:mutants -- [--seed 7] [--count 60] [--tests 40] [--minutes 60] [--json FILE] [--list] [part of a path ...]
Changes operators, conditions and constants in a copy of the code, one at a time, and counts who notices it.
--seed     chooses the places
--tests    is the maximum number of test files that run for one mutant
--minutes  is the maximum time for recording which test files call which functions; the next run continues
--json     writes the results to a file
--list     only prints the places`;

type Options = {
  readonly seed: number;
  readonly count: number;
  readonly tests: number;
  readonly minutes: number;
  readonly json: string | undefined;
  readonly isList: boolean;
  readonly parts: readonly string[];
};

const text = (value: string) => ({ type: 'string', default: value }) as const;
const OPTIONS = {
  ...{ seed: text('7'), count: text('60'), tests: text('40'), minutes: text('60') },
  json: { type: 'string' },
  list: { type: 'boolean', default: false },
} as const;

const numberOf = (value: string, name: string): number => {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`--${name} takes a number\n${USAGE}`);
  return Number(value);
};

const optionsOf = (args: string[]): Options => {
  const { values, positionals: parts } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const { seed, count, tests, minutes, json, list: isList } = values;
  const numbers = { seed: numberOf(seed, 'seed'), count: numberOf(count, 'count'), tests: numberOf(tests, 'tests') };
  return { ...numbers, minutes: numberOf(minutes, 'minutes'), json, isList, parts };
};

const root = join(import.meta.dirname, '../..');

const choose = ({ seed, count, parts }: Options): Place[] => {
  const files = globSync('{domain,commands,projections,api}/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
  const selected = files.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));
  const places = selected.flatMap((file) => placesIn(file, readFileSync(join(root, file), 'utf8')));
  if (places.length === 0) throw new Error(`nothing can be changed in ${parts.join(' ')}\n${USAGE}`);
  return choosePlaces(places, seed, count);
};

const reportTime = (what: string): void => console.error(`${what}: ${usedSeconds().toFixed(0)} s of processor time so far`);

/** Finds the places at which the change does not compile. @returns the others */
const checkTypes = async (copy: WorkingCopy, places: readonly Place[], onVerdict: (verdict: Verdict) => void): Promise<Place[]> => {
  const uncompilable = await findUncompilable(places, errorFinder(copy));
  for (const place of uncompilable) onVerdict({ place, noticedBy: 'types' });
  return places.filter((place) => !uncompilable.has(place));
};

let cleanUp = async (): Promise<void> => {};

const runTests = async (
  copy: WorkingCopy,
  places: readonly Place[],
  options: Options,
  onVerdict: (verdict: Verdict) => void,
): Promise<void> => {
  const services = await startTestServices();
  cleanUp = () => services.stop();
  try {
    const areas = new Set(places.flatMap((place) => areaOf(place.file) ?? []));
    const coverage = await findCoverage(copy, await services.openRun(), areas, options.minutes);
    reportTime('recording');
    await judgeAll({ services, coverage, importers: importersOfCheckout(), maxTests: options.tests, onVerdict }, places);
  } finally {
    await services.stop();
  }
};

const main = async (args: string[]): Promise<void> => {
  const options = optionsOf(args);
  const places = choose(options);
  if (options.isList) return places.forEach(({ id }) => void console.log(id));
  process.once('exit', removeCopies);
  const verdicts: Verdict[] = [];
  const onVerdict = (verdict: Verdict): void => {
    verdicts.push(verdict);
    console.log(lineOf(verdict));
  };
  const copy = await makeWorkingCopy();
  const compilable = await checkTypes(copy, places, onVerdict);
  reportTime('types');
  await runTests(copy, compilable, options, onVerdict);
  reportTime('tests');
  console.log(`\n${verdicts.length} mutants, noticed by\n${sharesOf(verdicts)}`);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(recordsOf(verdicts), null, 2)}\n`);
};

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    removeCopies();
    void cleanUp().finally(() => process.exit(1));
  });
await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
