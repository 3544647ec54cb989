import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { coalesce } from '../../infra/readmodel/query-queue.ts';

const late = { ms: 1_000, error: () => new Error('late') };
const settle = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Creates a queue in which a query runs until the test ends it. `started` lists the queries in the order of their
 * start.
 */
const controlled = () => {
  const run = coalesce<string>({ total: 3, perOwner: 2 }, late);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (owner: string, key: string) =>
    run(owner, key, () => {
      started.push(key);
      return new Promise((resolve) => ends.set(key, () => resolve(key)));
    });
  return { start, started, end: (key: string) => ends.get(key)!() };
};

test("of three places for queries, the slow queries of one tenant take at most two; that tenant's waiting queries do not delay another tenant", async () => {
  const { start, started, end } = controlled();
  const slow = ['a1', 'a2', 'a3', 'a4'].map((key) => start('a', key));
  await settle();
  assert.equal(started, ['a1', 'a2']);
  const other = start('b', 'b1');
  await settle();
  assert.equal(started, ['a1', 'a2', 'b1']);
  end('b1');
  assert.is(await other, 'b1');
  await settle();
  assert.equal(started, ['a1', 'a2', 'b1'], 'the free place is not for the tenant that has two');
  end('a1');
  await settle();
  assert.equal(started, ['a1', 'a2', 'b1', 'a3']);
  for (const key of ['a2', 'a3']) end(key);
  await settle();
  end('a4');
  assert.equal(await Promise.all(slow), ['a1', 'a2', 'a3', 'a4']);
});

test('if queries with the same key wait at the same time, only one of them runs, and all get its result', async () => {
  const { start, started, end } = controlled();
  const both = [start('a', 'same'), start('a', 'same')];
  await settle();
  assert.equal(started, ['same']);
  end('same');
  assert.equal(await Promise.all(both), ['same', 'same']);
});

test.run();
