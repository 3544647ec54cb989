import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Place } from './places.ts';
import { type WorkingCopy, whileChanged } from './working-copy.ts';

/** An error of the compiler. */
export type TypeError = { readonly file: string; readonly line: number; readonly text: string };

/** Finds the errors of the code with the changes of these places, without those that it has anyway. */
export type FindErrors = (places: readonly Place[]) => Promise<readonly TypeError[]>;

const isNear = ({ file, statement: [first, last] }: Place, error: TypeError): boolean =>
  error.file === file && error.line >= first && error.line <= last;

/**
 * Returns those of the places at which the change does not compile. An error in the statement of a place belongs to that
 * place. To which place an error elsewhere belongs is found by halving.
 */
const failing = async (places: readonly Place[], findErrors: FindErrors): Promise<readonly Place[]> => {
  if (places.length === 0) return [];
  const errors = await findErrors(places);
  const own = places.filter((place) => errors.some((error) => isNear(place, error)));
  if (errors.every((error) => own.some((place) => isNear(place, error)))) return own;
  if (places.length === 1) return places;
  const others = places.filter((place) => !own.includes(place));
  if (own.length > 0) return [...own, ...(await failing(others, findErrors))];
  const half = places.length >> 1;
  return [...(await failing(places.slice(0, half), findErrors)), ...(await failing(places.slice(half), findErrors))];
};

/** Divides places into groups, none of which has two places in one statement. */
const groupsOf = (places: readonly Place[]): Place[][] => {
  const groups: Place[][] = [];
  for (const place of places) {
    const isShared = (other: Place): boolean =>
      other.file === place.file && other.statement[0] <= place.statement[1] && place.statement[0] <= other.statement[1];
    const group = groups.find((each) => !each.some(isShared));
    if (group) group.push(place);
    else groups.push([place]);
  }
  return groups;
};

/**
 * Returns those of the places at which the change does not compile. The compiler checks many places at once, because
 * checking all code costs little more than checking one file.
 */
export const findUncompilable = async (places: readonly Place[], findErrors: FindErrors): Promise<ReadonlySet<Place>> => {
  const found = new Set<Place>();
  for (const group of groupsOf(places)) for (const place of await failing(group, findErrors)) found.add(place);
  return found;
};

const ERROR = /^(.+?)\((\d+),\d+\): (error .*)$/gm;

const errorsIn = (output: string): TypeError[] =>
  [...output.matchAll(ERROR)].map(([, file, line, text]) => ({ file: file!, line: Number(line), text: text! }));

/** A removed condition leaves names unused. This says nothing about what the types notice. */
const UNUSED_ALLOWED = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false', '--allowUnreachableCode', 'true'];

/** Runs the compiler in the copy. What it knows of unchanged files is kept in the copy. @throws Error if it does not run */
const compile = ({ dir }: WorkingCopy): Promise<TypeError[]> =>
  new Promise((resolve, reject) => {
    const buildInfo = ['--tsBuildInfoFile', join(dir, 'types.tsbuildinfo')];
    const args = ['node_modules/typescript/bin/tsc', '--noEmit', '--pretty', 'false', ...buildInfo, ...UNUSED_ALLOWED];
    execFile(process.execPath, args, { cwd: dir, maxBuffer: 1 << 26 }, (error, output, problem) => {
      const errors = errorsIn(output);
      if (error && errors.length === 0) reject(new Error(`the compiler did not run: ${problem || output}`));
      else resolve(errors);
    });
  });

/** Returns a function that finds the errors that changes of the code in the copy add. */
export const errorFinder = (copy: WorkingCopy): FindErrors => {
  let before: ReadonlySet<string> | undefined;
  const keyOf = ({ file, text }: TypeError): string => file + text;
  return async (places) => {
    console.error(`checking the types of ${places.length} changes`);
    const errors = await whileChanged(copy, places, () => compile(copy));
    if (errors.every((error) => places.some((place) => isNear(place, error)))) return errors;
    before ??= new Set((await compile(copy)).map(keyOf));
    return errors.filter((error) => !before?.has(keyOf(error)));
  };
};
