import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLruMap } from '../../infra/lru-map.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('the map keeps the most recently used entries, and the number of its entries is always below twice its capacity', () => {
  const map = createLruMap<number, string>({ capacity: 10 });
  for (const number of numbers(1_000)) map.set(number, String(number));
  const kept = numbers(1_000).filter((number) => map.peek(number) !== undefined);
  assert.ok(kept.length >= 10 && kept.length < 20, String(kept.length));
  assert.equal(kept, numbers(1_000).slice(-kept.length));
});

test('reading an entry with get protects it from eviction; reading it with peek does not', () => {
  const map = createLruMap<number, string>({ capacity: 10 });
  map.set(-1, 'used');
  map.set(-2, 'only seen');
  for (const number of numbers(1_000)) {
    map.set(number, String(number));
    if (number % 5 === 0) map.get(-1);
    map.peek(-2);
  }
  assert.equal([map.get(-1), map.get(-2)], ['used', undefined]);
});

test('the total weight of the entries of the map is bounded, and the weight of a replaced entry is subtracted', () => {
  const map = createLruMap<string, string>({ capacity: 1_000, maxWeight: 100, weightOf: ({ length }) => length });
  map.set('first', 'x');
  for (let times = 0; times < 100; times++) map.set('replaced', 'x'.repeat(50));
  assert.is(map.peek('first'), 'x');
  for (const number of numbers(20)) map.set(`large ${number}`, 'x'.repeat(60));
  const kept = numbers(20).filter((number) => map.peek(`large ${number}`) !== undefined);
  assert.ok(kept.length > 0 && kept.length <= 4, String(kept.length));
});

test('deleting an entry subtracts its weight from the total weight of the map, and clear removes all entries', () => {
  const map = createLruMap<string, string>({ capacity: 1_000, maxWeight: 100, weightOf: ({ length }) => length });
  map.set('first', 'x');
  for (const number of numbers(50)) {
    map.set(`deleted ${number}`, 'x'.repeat(90));
    map.delete(`deleted ${number}`);
    assert.is(map.get(`deleted ${number}`), undefined);
  }
  assert.is(map.peek('first'), 'x');
  map.clear();
  assert.is(map.get('first'), undefined);
});

test.run();
