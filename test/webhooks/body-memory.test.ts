import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BodyMemoryOptions, createBodyMemory } from '../../infra/webhooks/body-memory.ts';

const A = { tenant: 'a', integration: 'a1' };
const A_OTHER = { tenant: 'a', integration: 'a2' };
const B = { tenant: 'b', integration: 'b1' };
const SPEED_OF_1_MIB = 1024 * 1024;

const limits = { total: 6, tenant: 4, integration: 3 };
const create = (options: BodyMemoryOptions = {}) => createBodyMemory({ limits, chunkBytes: 1, ...options });

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'granted',
    ({ code }: { code: string }) => code,
  );

/** Returns what a promise has led to: 'granted', the code of its error, or 'waiting' if it is not settled. */
const stateOf = (work: Promise<unknown>): Promise<string> => Promise.race([codeOf(work), sleep(20, 'waiting')]);

test('bodies get different chunks of one buffer, and a released chunk is used again', async () => {
  const open = create();
  const [one, other] = [open(A, 1), open(B, 1)];
  const [first, second] = [await one.nextChunk(), await other.nextChunk()];
  assert.is(first.buffer, second.buffer);
  assert.is.not(first.byteOffset, second.byteOffset);
  one.release();
  one.release();
  const third = await open(A, 1).nextChunk();
  assert.is(third.byteOffset, first.byteOffset);
});

test('a body waits while its integration, its tenant or all bodies together have used up their memory, and gets memory when a body releases it', async () => {
  const open = create();
  const take = async (owner: typeof A, count: number) => {
    const bodies = Array.from({ length: count }, () => open(owner, 1));
    for (const body of bodies) await body.nextChunk();
    return bodies;
  };
  const [inIntegration] = await take(A, 3);
  const sameIntegration = open(A, 1).nextChunk();
  assert.is(await stateOf(sameIntegration), 'waiting');
  await take(A_OTHER, 1);
  const sameTenant = open(A_OTHER, 1).nextChunk();
  assert.is(await stateOf(sameTenant), 'waiting');
  const [inOtherTenant] = await take(B, 2);
  const otherTenant = open(B, 1).nextChunk();
  assert.is(await stateOf(otherTenant), 'waiting');
  inOtherTenant!.release();
  assert.equal([await stateOf(sameIntegration), await stateOf(sameTenant), await stateOf(otherTenant)], ['waiting', 'waiting', 'granted']);
  inIntegration!.release();
  assert.equal([await stateOf(sameIntegration), await stateOf(sameTenant)], ['granted', 'waiting']);
});

test('bodies that arrive at the same time never block each other for ever: each gets all the memory it needs', async () => {
  for (let round = 0; round < 50; round++) {
    const open = create();
    const receive = async (owner: typeof A): Promise<void> => {
      const size = 1 + Math.floor(Math.random() * 3);
      const body = open(owner, size);
      for (let chunk = 0; chunk < size; chunk++) {
        await body.nextChunk();
        await sleep(Math.random() * 2);
      }
      body.release();
    };
    const owners = [A, A, A, A_OTHER, A_OTHER, B, B, B, B];
    assert.equal(await Promise.all(owners.map((owner) => codeOf(receive(owner)))), Array(owners.length).fill('granted'));
  }
});

test('a body that gets no memory in time is refused as unavailable, with a Retry-After', async () => {
  const open = create({ maxWaitMs: 30 });
  for (let count = 0; count < 3; count++) await open(A, 1).nextChunk();
  const error = await open(A, 1)
    .nextChunk()
    .catch((refusal) => refusal);
  assert.is(error.code, 'unavailable');
  assert.ok(error.extra.retryAfter >= 5);
});

/** Lets `bytes` arrive for a body in every measuring interval. */
const arrive = (body: { countBytes: (count: number) => void }, bytes: number): NodeJS.Timeout =>
  setInterval(() => body.countBytes(bytes / 4), 25).unref();

test('a body that arrives at less than 64 KiB per second is refused as too slow, unless it is complete or waits for memory', async () => {
  const open = create({ intervalMs: 100 });
  const bodies = { slow: open(A, 1), fast: open(A, 1), complete: open(A, 1), waiting: open(A, 1) };
  for (const body of [bodies.slow, bodies.fast, bodies.complete]) await body.nextChunk();
  const timers = [arrive(bodies.slow, 3_000), arrive(bodies.fast, 30_000)];
  bodies.complete.complete();
  const waiting = bodies.waiting.nextChunk();
  waiting.catch(() => {});
  assert.is(await codeOf(bodies.slow.failed), 'too_slow');
  bodies.slow.release();
  await waiting;
  const fill = arrive(bodies.waiting, 30_000);
  await sleep(300);
  assert.equal(
    await Promise.all([bodies.fast, bodies.complete, bodies.waiting].map(({ failed }) => stateOf(failed))),
    Array(3).fill('waiting'),
  );
  for (const timer of [...timers, fill]) clearInterval(timer);
});

test('if a body needs memory, the slowest body below 1 MiB per second is given up; a body of another tenant, only if that tenant uses more memory', async () => {
  const open = create({ intervalMs: 100 });
  const slow = open(A, 2);
  const slower = open(A_OTHER, 1);
  const fast = open(A, 1);
  const small = open(B, 1);
  for (const body of [slow, slow, slower, fast, small]) await body.nextChunk();
  const perInterval = SPEED_OF_1_MIB / 10;
  const timers = [
    arrive(slow, perInterval / 2),
    arrive(slower, perInterval / 4),
    arrive(fast, 4 * perInterval),
    arrive(small, perInterval / 8),
  ];
  await sleep(300);
  assert.equal(await Promise.all([slow, slower, fast, small].map(({ failed }) => stateOf(failed))), Array(4).fill('waiting'));
  const late = open({ tenant: 'c', integration: 'c1' }, 2);
  await late.nextChunk();
  assert.is(await codeOf(late.nextChunk()), 'granted');
  assert.is(await stateOf(slower.failed), 'unavailable');
  assert.equal(await Promise.all([slow, fast, small].map(({ failed }) => stateOf(failed))), Array(3).fill('waiting'));
  for (const timer of timers) clearInterval(timer);
});

test.run();
