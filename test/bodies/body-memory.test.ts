import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readLargeBody } from '../../api/deliveries/large-body.ts';
import { type BodyMemoryOptions, createBodyMemory } from '../../infra/deliveries/body-memory.ts';

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

/** Returns the state of a promise: 'granted', the code of its error, or 'waiting' if it stays pending for 20 ms. */
const stateOf = (work: Promise<unknown>): Promise<string> => Promise.race([codeOf(work), sleep(20, 'waiting')]);

test('each body gets chunks of its own from one buffer, and a released chunk can be used for another body', async () => {
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

test('a body waits while its integration, its tenant or all bodies together have used up their memory; a chunk that is released goes to a body that waits', async () => {
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

test('bodies that arrive at the same time do not block each other forever: each of them gets all the memory that it needs', async () => {
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

test('receiving a body that gets no memory in time fails as unavailable, with a Retry-After', async () => {
  const open = create({ maxWaitMs: 30 });
  for (let count = 0; count < 3; count++) await open(A, 1).nextChunk();
  const error = await open(A, 1)
    .nextChunk()
    .catch((refusal) => refusal);
  assert.is(error.code, 'unavailable');
  assert.ok(error.extra.retryAfter >= 5);
});

test('at most 16 bodies of an integration, 32 of a tenant and 64 in total wait for memory; another one is refused at once', async () => {
  const open = create({ limits: { total: 1, tenant: 1, integration: 1 } });
  const holder = open(A, 1);
  await holder.nextChunk();
  const owners = [A, A_OTHER, B, { tenant: 'b', integration: 'b2' }];
  const refused: string[] = [];
  const waiting = owners.flatMap((owner) => Array.from({ length: 16 }, () => open(owner, 1)));
  const chunks = waiting.map((body) => body.nextChunk());
  for (const chunk of chunks) chunk.catch(() => {});
  for (const owner of [A, { tenant: 'a', integration: 'a3' }, { tenant: 'c', integration: 'c1' }])
    refused.push(await stateOf(open(owner, 1).nextChunk()));
  assert.equal(refused, ['unavailable', 'unavailable', 'unavailable']);
  assert.is(await stateOf(chunks.at(-1)!), 'waiting');
  holder.release();
  assert.is(await stateOf(chunks[0]!), 'granted');
  assert.is(await stateOf(open(A, 1).nextChunk()), 'waiting');
});

test('if 800 bodies stop waiting for memory, only a few other bodies are checked for each of them, and not all others', async () => {
  let reads = 0;
  const counted = (n: number) => ({
    get tenant() {
      reads++;
      return `t${n % 5}`;
    },
    integration: `i${n % 10}`,
  });
  const many = { total: 1_000, tenant: 1_000, integration: 1_000 };
  const open = create({ limits: { total: 50, tenant: 50, integration: 50 }, waitingLimits: many, maxWaitMs: 50 });
  for (let n = 0; n < 50; n++) await open(counted(n), 1).nextChunk();
  reads = 0;
  const outcomes = await Promise.all(Array.from({ length: 800 }, (_, n) => codeOf(open(counted(n), 30).nextChunk())));
  assert.equal(new Set(outcomes), new Set(['unavailable']));
  assert.ok(reads <= 10 * 800, `${reads} reads`);
});

/**
 * Replaces the promise `memory.failed` by one whose listeners are counted. @returns the memory, and a function that
 * returns the count
 */
const withCountedListeners = (memory: ReturnType<ReturnType<typeof create>>) => {
  let listeners = 0;
  const listen = memory.failed.then.bind(memory.failed);
  Object.defineProperty(memory.failed, 'then', {
    value: (...handlers: Parameters<typeof listen>) => {
      listeners++;
      return listen(...handlers);
    },
  });
  return { memory, listeners: () => listeners };
};

const requestWith = (body: ReadableStream): Request =>
  new Request('http://annals.test', { method: 'POST', body, duplex: 'half' } as RequestInit);

test('reading a large body adds a single listener to the promise for its memory, even if the body arrives in many pieces', async () => {
  const { memory, listeners } = withCountedListeners(createBodyMemory()(A, 1_000_000));
  const pieces = ReadableStream.from(Array.from({ length: 2_000 }, () => new Uint8Array(1)));
  const body = await readLargeBody(requestWith(pieces), 1_000_000, async () => memory);
  assert.equal([body.length, listeners()], [2_000, 1]);
});

test('if a body is given up while no bytes arrive, reading it fails with the reason, and its stream is cancelled', async () => {
  let isCancelled = false;
  const stalled = new ReadableStream({
    cancel: () => {
      isCancelled = true;
    },
  });
  const memory = createBodyMemory({ intervalMs: 50 })(A, 1_000_000);
  const keepAlive = setInterval(() => {}, 50);
  assert.is(await codeOf(readLargeBody(requestWith(stalled), 1_000_000, async () => memory)), 'too_slow');
  clearInterval(keepAlive);
  assert.ok(isCancelled);
});

/** Simulates a body that receives `bytes` bytes every 100 ms, even if the timer is late on a busy machine. */
const arrive = (body: { countBytes: (count: number) => void }, bytes: number): NodeJS.Timeout => {
  let arrivedAt = performance.now();
  return setInterval(() => {
    const now = performance.now();
    body.countBytes((bytes * (now - arrivedAt)) / 100);
    arrivedAt = now;
  }, 25).unref();
};

test('receiving a body at less than 64 KiB per second fails as too slow, unless the body is complete or waits for memory', async () => {
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

test('if a body needs memory, the slowest body is given up; that of another tenant only if it uses more memory', async () => {
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
