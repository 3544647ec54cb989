import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inBatches } from '../../api/http/in-batches.ts';

test('items are mapped in order, and at most one batch of them at the same time', async () => {
  for (const [count, size, most] of [
    [0, 3, 0],
    [2, 3, 2],
    [10, 3, 3],
  ] as const) {
    let [running, highest] = [0, 0];
    const items = Array.from({ length: count }, (_, n) => n);
    const results = await inBatches(items, size, async (n) => {
      highest = Math.max(highest, ++running);
      await setTimeout(2);
      running--;
      return n * 2;
    });
    assert.equal([results, highest], [items.map((n) => n * 2), most], `${count} in batches of ${size}`);
  }
});

test.run();
