import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import { type Place, placesIn } from './places.ts';
import { type FindErrors, findUncompilable } from './type-check.ts';

const FILES = ['a.ts', 'b.ts', 'c.ts', 'd.ts'];
const places = FILES.flatMap((file) => placesIn(file, "const min = 1;\nconst kind = 'x' === name;\n"));
const placeOf = (file: string, from: string): Place => places.find((place) => place.file === file && place.from === from)!;

/** Returns a compiler that reports these errors, each for one place, and counts how often it runs. */
const compiler = (errors: ReadonlyMap<Place, { file: string; line: number }>): { findErrors: FindErrors; runs: () => number } => {
  let runs = 0;
  const findErrors: FindErrors = async (changed) => {
    runs++;
    return changed.flatMap((place) => (errors.has(place) ? [{ ...errors.get(place)!, text: 'error' }] : []));
  };
  return { findErrors, runs: () => runs };
};

test('places that compile together need one run of the compiler for each change of the same statement', async () => {
  const { findErrors, runs } = compiler(new Map());
  is((await findUncompilable(places, findErrors)).size, 0);
  is(runs(), 2);
});

test('an error in the statement of a place belongs to that place', async () => {
  const place = placeOf('b.ts', "'x'");
  const { findErrors, runs } = compiler(new Map([[place, { file: 'b.ts', line: 2 }]]));
  equal([...(await findUncompilable(places, findErrors))], [place]);
  is(runs(), 2);
});

test('the place that causes an error in another file is found', async () => {
  const elsewhere = placeOf('c.ts', '1');
  const own = placeOf('a.ts', '1');
  const { findErrors } = compiler(
    new Map([
      [elsewhere, { file: 'test/c.test.ts', line: 40 }],
      [own, { file: 'a.ts', line: 1 }],
    ]),
  );
  equal(new Set(await findUncompilable(places, findErrors)), new Set([own, elsewhere]));
});

test.run();
