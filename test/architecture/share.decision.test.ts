import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { casesOf, isInShare, oneOfEachKind, readShare, runsOf } from '../fixtures/share.ts';

const NUMBERS = Array.from({ length: 1_000 }, (_, index) => index);
const share = (TEST_SHARE: string, TEST_SEED = '7') => readShare({ TEST_SHARE, TEST_SEED });
const chosen = (text: string, seed?: string): number[] => casesOf(share(text, seed), NUMBERS, String);

test('without TEST_SHARE and TEST_SEED, the share is the first 10 %, and the seed is random', () => {
  const { from, to, seed } = readShare({});
  assert.equal([from, to], [0, 10]);
  assert.is.not(readShare({}).seed, seed);
  assert.equal(readShare({ TEST_SHARE: '', TEST_SEED: '3' }), { from: 0, to: 10, seed: 3 });
});

test('a malformed TEST_SHARE or TEST_SEED is an error that says what the variable must be', () => {
  for (const text of ['10', '10-0', '5-5', '0-101', '-1-5', '0-10%', 'all'])
    assert.throws(() => share(text), /TEST_SHARE must be <from>-<to> in per cent, such as 0-10, but is/, text);
  for (const seed of ['x', '-1', '1.5', String(2 ** 31)])
    assert.throws(() => share('0-10', seed), /TEST_SEED must be a whole number/, seed);
});

test('with the same seed, adjacent shares together have every case exactly once', () => {
  const parts = [...chosen('0-10'), ...chosen('10-35'), ...chosen('35-100')];
  assert.equal(
    parts.toSorted((a, b) => a - b),
    NUMBERS,
  );
  assert.equal(chosen('0-100'), NUMBERS);
  assert.is(chosen('0-10').length, 100);
  for (const name of NUMBERS.map(String)) assert.is(isInShare(share('0-10'), name), !isInShare(share('10-100'), name));
});

test('another seed chooses other cases; the same seed chooses the same cases', () => {
  assert.equal(chosen('0-10'), chosen('0-10'));
  assert.not.equal(chosen('0-10', '8'), chosen('0-10'));
});

test('whether a case belongs to the share depends on its name only, and not on its place in the list', () => {
  const reversed = casesOf(share('0-10'), NUMBERS.toReversed(), String);
  assert.equal(reversed.toReversed(), chosen('0-10'));
});

test('a share that begins with 0 has at least one case of each kind', () => {
  const kinds = casesOf(share('0-1'), NUMBERS, String, (number) => String(number % 70)).map((number) => number % 70);
  assert.is(new Set(kinds).size, 70);
});

test('of each kind, one case is chosen, which depends on the seed but not on the share', () => {
  const one = (text: string, seed?: string) => oneOfEachKind(share(text, seed), NUMBERS, String, (number) => String(number % 70));
  assert.is(new Set(one('0-10').map((number) => number % 70)).size, 70);
  assert.is(one('0-10').length, 70);
  assert.equal(one('10-100'), one('0-10'));
  assert.not.equal(one('0-10', '8'), one('0-10'));
});

test('adjacent shares of random cases have as many cases as the whole, at least one each, and different seeds', () => {
  assert.is(runsOf(share('0-10'), 1_234).numRuns + runsOf(share('10-100'), 1_234).numRuns, 1_234);
  assert.is(runsOf(share('0-10'), 3).numRuns, 1);
  assert.is.not(runsOf(share('0-10'), 100).seed, runsOf(share('10-100'), 100).seed);
  assert.equal(runsOf(share('0-10'), 100), runsOf(share('0-10'), 100));
});

test.run();
