import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallQueue } from '../../infra/schedule/call-queue.ts';

/**
 * Creates a queue in which a call runs until the test ends it. `started` has the names of the calls in the order of
 * their start.
 */
const startQueue = (limits: { total: number; perHost: number }) => {
  const queue = createCallQueue(limits);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    add: (host: string, name: string) =>
      queue.add(host, () => {
        started.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      }),
    end: async (name: string) => {
      ends.get(name)!();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};

test('calls to a host beyond the limit for a host wait, and start in the order in which they were made', async () => {
  const { add, end, started } = startQueue({ total: 10, perHost: 2 });
  for (const name of ['1', '2', '3', '4']) add('a', name);
  assert.equal(started, ['1', '2']);
  await end('2');
  assert.equal(started, ['1', '2', '3']);
  await end('1');
  assert.equal(started, ['1', '2', '3', '4']);
});

test('calls to one host that do not end do not delay calls to another host', async () => {
  const { add, end, started } = startQueue({ total: 3, perHost: 2 });
  for (const name of ['1', '2', '3', '4']) add('slow', name);
  for (const name of ['5', '6', '7']) add('fast', name);
  await end('5');
  await end('6');
  assert.equal(started, ['1', '2', '5', '6', '7']);
});

test('if all places for calls are taken, the next free places go in turn to the hosts that have waiting calls', async () => {
  const { add, end, started } = startQueue({ total: 1, perHost: 1 });
  for (const name of ['a1', 'a2', 'a3']) add('a', name);
  for (const name of ['b1', 'b2']) add('b', name);
  for (const name of ['a1', 'b1', 'a2', 'b2']) await end(name);
  assert.equal(started, ['a1', 'b1', 'a2', 'b2', 'a3']);
});

test.run();
