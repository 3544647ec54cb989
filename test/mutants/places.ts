import { createHash } from 'node:crypto';
import ts from 'typescript-5';
import { type Change, changesAt, partsOf } from './changes.ts';

/** A place in a source file at which a mutant differs from the code, and the difference. */
export type Place = Change & {
  readonly file: string;
  /** Names the place by its file, its function, and a hash of its line, so that it is the same when other code changes. */
  readonly id: string;
  /** The names of the functions and constants that contain the place. */
  readonly scope: string;
  /** The text that is replaced. */
  readonly from: string;
  readonly line: number;
  /** The first and the last line of the statement of the module that contains the place. */
  readonly statement: readonly [number, number];
  /** The innermost function that contains the place, with the blanks before it; absent for code of the module itself. */
  readonly calledIn?: readonly [start: number, end: number];
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

type Named = ts.VariableDeclaration | ts.FunctionDeclaration | ts.MethodDeclaration | ts.PropertyAssignment;

const isNamed = (node: ts.Node): node is Named =>
  ts.isVariableDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isMethodDeclaration(node) ||
  (ts.isPropertyAssignment(node) && ts.isFunctionLike(node.initializer));

/** Returns the node's ancestors, from the module to the node itself. */
const pathTo = (node: ts.Node): ts.Node[] => (node.parent ? [...pathTo(node.parent), node] : [node]);

const placeOf = (source: ts.SourceFile, node: ts.Node, change: Change): Omit<Place, 'id'> => {
  const path = pathTo(node);
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const statement = path[1] ?? node;
  const inner = path.findLast((each) => ts.isFunctionLike(each));
  const from = source.text.slice(change.start, change.end);
  return {
    ...change,
    // With the same number of line breaks, the compiler's errors have the line numbers of the original.
    to: change.to + from.replace(/[^\n]/g, ''),
    file: source.fileName,
    scope: path
      .filter(isNamed)
      .map((each) => each.name?.getText() ?? '')
      .join('.'),
    from,
    line: lineOf(change.start) + 1,
    statement: [lineOf(statement.getStart()) + 1, lineOf(statement.end) + 1],
    ...(inner && { calledIn: [inner.pos, inner.end] }),
  };
};

const walk = (source: ts.SourceFile, node: ts.Node): Omit<Place, 'id'>[] => [
  ...changesAt(node).map((change) => placeOf(source, node, change)),
  ...partsOf(node).flatMap((part) => walk(source, part)),
];

/** Returns all places of a source file, in the order of the code. */
export const placesIn = (file: string, text: string): Place[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const lines = text.split('\n');
  const counts = new Map<string, number>();
  return walk(source, source).map((place) => {
    const name = `${file} ${place.scope} ${hashOf(lines[place.line - 1]!.trim()).slice(0, 8)} ${place.from} → ${place.to.trim()}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return { ...place, id: count === 1 ? name : `${name} #${count}` };
  });
};

/**
 * Chooses `count` places by a seed. Each place has a random rank that depends only on the seed and its id: so most of the
 * choice stays the same when code at other places changes.
 */
export const choosePlaces = (places: readonly Place[], seed: number, count: number): Place[] =>
  places
    .map((place) => ({ place, rank: hashOf(`${seed} ${place.id}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ place }) => place);

/** Returns a source text with the changes of these places. The places must not overlap. */
export const textWith = (text: string, places: readonly Place[]): string =>
  [...places]
    .sort((a, b) => b.start - a.start)
    .reduce((changed, { start, end, to }) => changed.slice(0, start) + to + changed.slice(end), text);
