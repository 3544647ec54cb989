import { filesOf, importedFiles } from '../architecture/source-files.ts';
import type { Coverage, TestFile } from './coverage.ts';
import type { Place } from './places.ts';

/** Which test files can notice a mutant. */
export type Reach = {
  /** Those in the test folder of the place's area, and then the others; the fastest first. */
  readonly near: readonly string[];
  readonly far: readonly string[];
};

/** The files that import a file, directly or not; and those that import it directly. */
export type Importers = { readonly all: (file: string) => ReadonlySet<string>; readonly direct: (file: string) => ReadonlySet<string> };

const ROOMS = ['domain', 'commands', 'projections', 'api', 'infra', 'test'];

/** Returns the importers of a file in a graph from files to what they import. */
export const importersIn = (imports: ReadonlyMap<string, readonly string[]>): Importers => {
  const direct = new Map<string, Set<string>>();
  for (const [file, targets] of imports) for (const target of targets) direct.set(target, (direct.get(target) ?? new Set()).add(file));
  const directOf = (file: string): ReadonlySet<string> => direct.get(file) ?? new Set();
  const all = (file: string): ReadonlySet<string> => {
    const found = new Set<string>();
    const waiting = [file];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const importer of directOf(next)) {
        if (found.has(importer)) continue;
        found.add(importer);
        waiting.push(importer);
      }
    return found;
  };
  return { all, direct: directOf };
};

export const importersOfCheckout = (): Importers => importersIn(new Map(ROOMS.flatMap(filesOf).map((file) => [file, importedFiles(file)])));

const testsOf = ({ tests }: Coverage, indexes: readonly number[]): Set<TestFile> =>
  new Set(indexes.map((index) => tests[index < 0 ? -1 - index : index]!));

/** Returns the folder of a file in its room, which is also the name of its test folder; undefined for none. */
export const areaOf = (file: string): string | undefined => /^\w+\/([\w-]+)\//.exec(file)?.[1];

/** Returns the entries of `calls` for the innermost function that contains the place. */
const callersOf = ({ calls }: Coverage, { file, start, end, calledIn }: Place): readonly number[] =>
  Object.entries(calls[file] ?? {}).flatMap(([range, indexes]) => {
    const [from = 0, to = 0] = range.split('-').map(Number);
    return calledIn && from >= calledIn[0] && to <= calledIn[1] && from <= start && to >= end ? indexes : [];
  });

/** Returns the test files that call a function of one of these files, when it is already loaded. */
const usersOf = (coverage: Coverage, files: Iterable<string>): Set<TestFile> =>
  testsOf(
    coverage,
    [...files].flatMap((file) => Object.values(coverage.calls[file] ?? {}).flat()).filter((index) => index >= 0),
  );

const inOrder = (tests: Iterable<TestFile>, first: ReadonlySet<TestFile>): string[] =>
  [...tests].sort((a, b) => Number(first.has(b)) - Number(first.has(a)) || a.seconds - b.seconds).map(({ file }) => file);

/**
 * Returns the test files that can notice a change at a place: those that call its function. Code that runs while its
 * module is loaded can be noticed by all test files that load it; first come those that call something in the module, or
 * in one that imports it.
 */
export const reachOf = (coverage: Coverage, importers: Importers, place: Place): Reach => {
  const callers = callersOf(coverage, place);
  const isCalledLater = callers.some((index) => index >= 0);
  const importing = importers.all(place.file);
  const loaders = coverage.tests.filter(({ file }) => importing.has(file));
  const isDead = place.calledIn !== undefined && callers.length === 0;
  const reaching = isDead ? [] : isCalledLater ? [...testsOf(coverage, callers)] : loaders;
  const users = usersOf(coverage, [place.file, ...importers.direct(place.file)]);
  const useful = reaching.filter(({ passes }) => passes);
  const area = areaOf(place.file);
  const isNear = ({ file }: TestFile): boolean => area !== undefined && file.startsWith(`test/${area}/`);
  return {
    near: inOrder(useful.filter(isNear), users),
    far: inOrder(
      useful.filter((each) => !isNear(each)),
      users,
    ),
  };
};
