import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keyText } from '../../domain/audit/audit-key.ts';
import {
  consistencyPath,
  EMPTY_ROOT,
  type Hash,
  inclusionPath,
  leafHash,
  nodeHash,
  peaksOf,
  rootFromInclusion,
  rootOf,
} from '../../domain/audit/merkle-tree.ts';

const hexOf = (hash: Hash): string => Buffer.from(hash, 'base64url').toString('hex');
const leavesOf = (count: number): Hash[] => Array.from({ length: count }, (_, index) => leafHash(`entry ${index}`));

/** Computes the root of a Merkle tree from all leaves, exactly as RFC 9162 defines it. */
const rootByDefinition = (leaves: readonly Hash[]): Hash => {
  if (leaves.length === 0) return EMPTY_ROOT;
  if (leaves.length === 1) return leaves[0]!;
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return nodeHash(rootByDefinition(leaves.slice(0, split)), rootByDefinition(leaves.slice(split)));
};

/** Verifies a consistency proof with the algorithm in section 2.1.4.2 of RFC 9162. */
const isConsistent = (first: number, second: number, firstRoot: Hash, secondRoot: Hash, proof: readonly Hash[]): boolean => {
  const path = Number.isInteger(Math.log2(first)) ? [firstRoot, ...proof] : [...proof];
  let [at, last] = [first - 1, second - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  let [old, root] = [path[0]!, path[0]!];
  for (const next of path.slice(1)) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [old, root] = [nodeHash(next, old), nodeHash(next, root)];
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = nodeHash(root, next);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && old === firstRoot && root === secondRoot;
};

test('the hash of an empty Merkle tree and the hash of an empty leaf are those that RFC 9162 defines', () => {
  assert.is(hexOf(EMPTY_ROOT), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.is(hexOf(leafHash('')), '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
});

test('the root hash that is computed from the peaks of a Merkle tree and the leaves after the peaks equals the root hash by RFC 9162, wherever the tree is divided', () => {
  for (let size = 0; size <= 70; size++) {
    const leaves = leavesOf(size);
    for (let old = 0; old <= size; old++) {
      const peaks = peaksOf({ size: 0, peaks: [], leaves: leaves.slice(0, old) });
      const end = { size: old, peaks, leaves: leaves.slice(old) };
      assert.is(rootOf(end), rootByDefinition(leaves));
      assert.equal(peaksOf(end), peaksOf({ size: 0, peaks: [], leaves }));
    }
  }
});

test('an inclusion proof yields the root hash of the tree; with another leaf, index or tree size, it yields another hash', () => {
  for (let size = 1; size <= 40; size++) {
    const leaves = leavesOf(size);
    for (let old = 0; old < size; old++) {
      const end = { size: old, peaks: peaksOf({ size: 0, peaks: [], leaves: leaves.slice(0, old) }), leaves: leaves.slice(old) };
      for (let index = old; index < size; index++) {
        const path = inclusionPath(end, index);
        const root = rootOf(end);
        assert.is(rootFromInclusion(leaves[index]!, index, size, path), root);
        assert.is.not(rootFromInclusion(leafHash('another'), index, size, path), root);
        if (size > 1) assert.is.not(rootFromInclusion(leaves[index]!, (index + 1) % size, size, path), root);
        if (path.length > 0) assert.is.not(rootFromInclusion(leaves[index]!, index, size, path.slice(1)), root);
      }
      assert.throws(() => inclusionPath(end, size), /leaf/);
      if (old > 0) assert.throws(() => inclusionPath(end, old - 1), /leaf/);
    }
  }
});

test('a consistency proof between two tree sizes is accepted for any two sizes; with a different old root hash it is refused', () => {
  for (let size = 2; size <= 40; size++) {
    const leaves = leavesOf(size);
    for (let old = 1; old < size; old++) {
      const peaks = peaksOf({ size: 0, peaks: [], leaves: leaves.slice(0, old) });
      const proof = consistencyPath({ size: old, peaks, leaves: leaves.slice(old) });
      const [first, second] = [rootByDefinition(leaves.slice(0, old)), rootByDefinition(leaves)];
      assert.ok(isConsistent(old, size, first, second, proof), `${old} to ${size}`);
      assert.not(isConsistent(old, size, leafHash('forged'), second, proof));
    }
  }
});

test('the text that a signing key signs for its successor has three lines: a heading, the id and the public key of the successor', () =>
  assert.is(keyText({ key_id: 'a', public_key: 'b' }), 'annals audit key v1\na\nb'));

test.run();
