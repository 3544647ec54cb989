import { hash } from 'node:crypto';

/** SHA-256 as base64url. */
export type Hash = string;

const HASH_BYTES = 32;
/** A byte with the value 1, then room for two hashes. All nodes use the same buffer, because a tree has very many nodes. */
const nodeBytes = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** The SHA-256 of a zero byte followed by the UTF-8 text (RFC 9162, 2.1.1). */
export const leafHash = (text: string): Hash => hash('sha256', `\0${text}`, 'base64url');

/** The SHA-256 of a byte with the value 1 followed by the hashes of both children. */
export const nodeHash = (left: Hash, right: Hash): Hash => {
  nodeBytes.write(left, 1, 'base64url');
  nodeBytes.write(right, 1 + HASH_BYTES, 'base64url');
  return hash('sha256', nodeBytes, 'base64url');
};

/** The SHA-256 of no bytes. */
export const EMPTY_ROOT: Hash = hash('sha256', '', 'base64url');

/** The largest power of two that is smaller than `size`, which must be at least 2. */
const splitOf = (size: number): number => {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
};

/**
 * What root and proofs are computed from. `peaks`: hashes of the largest complete subtrees over the first `size` leaves, from left to
 * right, one for each set bit of `size`. `leaves`: hashes of the leaves after them.
 */
export type TreeEnd = { readonly size: number; readonly peaks: readonly Hash[]; readonly leaves: readonly Hash[] };

export const sizeOf = ({ size, leaves }: TreeEnd): number => size + leaves.length;

/** For each peak, the index of its first leaf. */
const startsOf = (size: number): number[] => {
  const starts: number[] = [];
  for (let start = 0, bit = 2 ** Math.floor(Math.log2(Math.max(size, 1))); bit >= 1; bit /= 2)
    if (start + bit <= size) {
      starts.push(start);
      start += bit;
    }
  return starts;
};

type Hasher = (from: number, to: number) => Hash;

/** Hashes the subtree over the leaves `from` to `to - 1`. Throws RangeError for a node below a peak, where no hashes are known. */
const createHasher = ({ size, peaks, leaves }: TreeEnd): Hasher => {
  const starts = startsOf(size);
  const known = new Map<string, Hash>();
  const hashOf = (from: number, to: number): Hash => {
    if (from === to) return EMPTY_ROOT;
    const peak = starts.indexOf(from);
    if (peak >= 0 && (starts[peak + 1] ?? size) === to) return peaks[peak]!;
    if (to - from === 1) {
      if (from < size) throw new RangeError(`the hash of leaf ${from} is not known`);
      return leaves[from - size]!;
    }
    const place = `${from} ${to}`;
    const found = known.get(place);
    if (found !== undefined) return found;
    const split = from + splitOf(to - from);
    const node = nodeHash(hashOf(from, split), hashOf(split, to));
    known.set(place, node);
    return node;
  };
  return hashOf;
};

/** Caches hashes: signing a head needs the root, the peaks and a proof of the same tree. */
const hashers = new WeakMap<TreeEnd, Hasher>();

const hasher = (end: TreeEnd): Hasher => {
  const hashOf = hashers.get(end) ?? createHasher(end);
  hashers.set(end, hashOf);
  return hashOf;
};

export const rootOf = (end: TreeEnd): Hash => hasher(end)(0, sizeOf(end));

/** Includes `leaves`. A larger tree can be computed from these peaks without the leaves of this one. */
export const peaksOf = (end: TreeEnd): Hash[] => {
  const size = sizeOf(end);
  const hashOf = hasher(end);
  const starts = startsOf(size);
  return starts.map((start, index) => hashOf(start, starts[index + 1] ?? size));
};

/** From the leaf upwards (RFC 9162, 2.1.3.1). @throws RangeError if the leaf is not among `leaves` */
export const inclusionPath = (end: TreeEnd, index: number): Hash[] => {
  const hashOf = hasher(end);
  const pathIn = (from: number, to: number): Hash[] => {
    if (to - from === 1) return [];
    const split = from + splitOf(to - from);
    return index < split ? [...pathIn(from, split), hashOf(split, to)] : [...pathIn(split, to), hashOf(from, split)];
  };
  if (index < end.size || index >= sizeOf(end)) throw new RangeError(`leaf ${index} is not among the last leaves`);
  return pathIn(0, sizeOf(end));
};

/** Proves that the whole tree begins with the first `size` leaves, those under `peaks` (RFC 9162, 2.1.4.1). */
export const consistencyPath = (end: TreeEnd): Hash[] => {
  const { size: old } = end;
  const hashOf = hasher(end);
  const pathIn = (from: number, to: number, isWhole: boolean): Hash[] => {
    if (to === old) return isWhole ? [] : [hashOf(from, to)];
    const split = from + splitOf(to - from);
    return old <= split ? [...pathIn(from, split, isWhole), hashOf(split, to)] : [...pathIn(split, to, false), hashOf(from, split)];
  };
  return old === 0 || end.leaves.length === 0 ? [] : pathIn(0, sizeOf(end), true);
};

/** Null if the length of the path does not fit the index and the size. */
export const rootFromInclusion = (leaf: Hash, index: number, size: number, path: readonly Hash[]): Hash | null => {
  let [at, last, root] = [index, size - 1, leaf];
  if (index < 0 || index >= size) return null;
  for (const sibling of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : null;
};
