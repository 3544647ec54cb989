import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jsonEvent } from '@eventstore/db-client';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { openLog as openClient } from '../../infra/eventstore/client.ts';
import { openLog } from '../../infra/eventstore/embedded/log/log.ts';
import { type Log, LogError, type NewEvent } from '../../infra/eventstore/event-log.ts';
import { isPartOf, readBackwards, readEach, readForwards } from '../fixtures/log-records.ts';
import { clientOf } from '../fixtures/store-client.ts';
import { flipBits, runStoreCommand, segmentsOf } from '../fixtures/store-files.ts';
import { pause, type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const meta = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 } as const;
let nextId = 0;
const event = (label: string): NewEvent => ({ id: uuid(nextId++), type: 'Happened', data: { label }, meta });

const reported: string[] = [];
const logOf = ({ url }: StoreProcess): Log => {
  const log = openClient(url, { onDamage: (message) => void reported.push(message) });
  afterTest(log.close);
  return log;
};

/** Reads all events. @returns their labels, and the kind of the error that ended the read (null if none did) */
const labels = async (events: AsyncIterable<{ data: unknown }>): Promise<[string[], string | null]> => {
  const found: string[] = [];
  try {
    for await (const { data } of events) found.push((data as { label: string }).label);
    return [found, null];
  } catch (error) {
    return [found, error instanceof LogError ? error.kind : String(error)];
  }
};

const failure = (work: Promise<unknown>): Promise<LogError> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error) => error,
  );

/** Creates a store with three streams whose events alternate in the log, and stops the store. @returns its directory */
const createStore = async (): Promise<string> => {
  const store = await startStore();
  const log = logOf(store);
  for (let n = 0; n < 5; n++)
    for (const name of ['bad', 'good', 'tail']) await log.append(`case-t.${name}`, n === 0 ? 'none' : n - 1, [event(`${name}${n}`)]);
  assert.is(await store.end(), 0);
  return store.dir;
};

/** Damages the event with this label: flips bits of the event's data in the segment file. */
const damage = (dir: string, label: string): void => {
  const [segment] = segmentsOf(dir);
  flipBits(segment!, readFileSync(segment!).indexOf(`"${label}"`) + 1);
};

test('only requests that need a damaged event fail, and the command `verify` names that event', async () => {
  const dir = await createStore();
  damage(dir, 'bad2');
  const store = await startStore({ dir });
  const log = logOf(store);
  assert.equal(await labels(log.read('case-t.bad')), [['bad0', 'bad1'], 'damaged']);
  assert.equal(await labels(log.read('case-t.bad', { from: 3 })), [['bad3', 'bad4'], null]);
  assert.equal(await labels(log.read('case-t.good')), [['good0', 'good1', 'good2', 'good3', 'good4'], null]);
  assert.is((await log.last('case-t.bad'))!.revision, 4);
  const [before, ended] = await labels(log.readAll());
  assert.equal([before.slice(-2), ended], [['good1', 'tail1'], 'damaged']);
  const [after, endedToo] = await labels(log.readAll({ backwards: true }));
  assert.equal([after.slice(-2), endedToo], [['tail2', 'good2'], 'damaged']);
  await log.append('case-t.bad', 4, [event('bad5')]);
  await log.append('case-t.new', 'none', [event('new0')]);
  assert.equal((await labels(log.readAll({ backwards: true, limit: 2 })))[0], ['new0', 'bad5']);
  assert.ok(reported.length > 0 && reported.every((message) => /damaged at position \d+/.test(message)));
  const { code, output } = runStoreCommand('verify', '--dir', dir);
  assert.is(code, 1);
  assert.match(output, /damaged: event 2 of stream "case-t.bad", type "Happened"/);
  assert.is(await store.end(), 0);
});

test('a subscription that reaches a damaged event ends with an error; one that starts after the damaged event works', async () => {
  const dir = await createStore();
  damage(dir, 'bad2');
  const store = await startStore({ dir });
  const log = logOf(store);
  const received: string[] = [];
  const receive = (event: { data: unknown }) => void received.push((event.data as { label: string }).label);
  const failing = log.follow({ event: receive });
  const error = await failing.failure;
  assert.match(error!.message, /damaged at position/);
  assert.equal(received, ['bad0', 'good0', 'tail0', 'bad1', 'good1', 'tail1']);
  const [good2] = await Array.fromAsync(log.read('case-t.good', { from: 2, limit: 1 }));
  received.length = 0;
  const following = log.follow({ from: good2!.position, event: receive });
  await log.append('case-t.good', 4, [event('good5')]);
  for (let waits = 0; received.at(-1) !== 'good5' && waits < 100; waits++) await pause(20);
  assert.equal(received, ['tail2', 'bad3', 'good3', 'tail3', 'bad4', 'good4', 'tail4', 'good5']);
  const prefixed = log.follow({ filter: { streamPrefixes: ['case-t.good'] }, event: receive });
  assert.match((await prefixed.failure)!.message, /damaged/, 'the filter cannot be applied to a damaged event');
  await following.stop();
  await store.end();
});

test('a subscription that has received an event can continue after that event, even if the event has been damaged since', async () => {
  const dir = await createStore();
  const running = await startStore({ dir });
  const entries = (await Array.fromAsync(logOf(running).readAll())).map(
    ({ position, data }) => [(data as { label: string }).label, position] as const,
  );
  await running.end();
  const positions = Object.fromEntries(entries);
  for (const [label, next] of [
    ['bad2', 'good2'],
    ['tail4', 'more'],
  ] as const) {
    damage(dir, label);
    const store = await startStore({ dir });
    const log = logOf(store);
    const received: string[] = [];
    const following = log.follow({ from: positions[label]!, event: ({ data }) => void received.push((data as { label: string }).label) });
    if (next === 'more') await log.append('case-t.more', 'none', [event('more')]);
    for (let waits = 0; received.length === 0 && waits < 100; waits++) await pause(20);
    assert.is(received[0], next);
    assert.is((await failure(Array.fromAsync(log.readAll({ from: positions[label]! })))).kind, 'damaged', 'a read that includes it fails');
    await following.stop();
    await store.end();
  }
});

test("an append that has to read a damaged event fails with 'damaged', and the event store keeps running", async () => {
  const dir = await createStore();
  damage(dir, 'tail4');
  const store = await startStore({ dir });
  const log = logOf(store);
  const all = await Promise.allSettled([
    log.append('case-t.good', 4, [event('good5')]),
    log.append('case-t.tail', 4, [event('tail5')]),
    log.append('case-t.bad', 4, [event('bad5')]),
  ]);
  assert.equal(
    all.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.is((await failure(log.append('case-t.tail', 4, [event('tail5')]))).kind, 'damaged');
  assert.is((await failure(log.append('case-t.tail', 'none', [event('tail5')]))).kind, 'damaged');
  const client = clientOf(store);
  const one = await failure(
    client.appendToStream('case-t.tail', jsonEvent({ type: 'x', data: {} }), { credentials: { username: 'a', password: 'b' } }),
  );
  assert.match(one.message, /damaged at position/);
  assert.match((await failure(client.tombstoneStream('case-t.tail'))).message, /DATA_LOSS.*damaged at position/);
  assert.equal((await labels(log.read('case-t.good')))[0].at(-1), 'good5');
  assert.is(await store.end(), 0);
});

test('a read of a stream fails if the metadata of the stream is damaged', async () => {
  const store = await startStore();
  const client = clientOf(store);
  await client.appendToStream('deleted', jsonEvent({ type: 'x', data: { label: 'deleted0' } }));
  await client.deleteStream('deleted');
  await client.dispose();
  assert.is(await store.end(), 0);
  const [segment] = segmentsOf(store.dir);
  flipBits(segment!, readFileSync(segment!).indexOf('$tb') + 1);
  const again = await startStore({ dir: store.dir });
  const read = await failure(Array.fromAsync(clientOf(again).readStream('deleted')));
  assert.match(read.message, /damaged at position/);
  await again.end();
});

test('scavenging fails at a segment that contains a damaged event, and removes nothing from the segment', async () => {
  const dir = await createStore();
  const running = await startStore({ dir });
  const client = clientOf(running);
  await client.tombstoneStream('case-t.good');
  await client.dispose();
  await running.end();
  damage(dir, 'bad2');
  const { code, output } = runStoreCommand('scavenge', '--dir', dir);
  assert.is.not(code, 0);
  assert.match(output, /damaged at position/);
  assert.match(runStoreCommand('verify', '--dir', dir).output, /event 2 of stream "case-t.bad"/);
});

test('after scavenging, verify and a read report the same position for a damaged event', async () => {
  const dir = await createStore();
  const store = await startStore({ dir });
  const client = clientOf(store);
  await client.tombstoneStream('case-t.good');
  runStoreCommand('scavenge', '--dir', dir);
  await client.dispose();
  await store.end();
  damage(dir, 'tail2');
  const { code, output } = runStoreCommand('verify', '--dir', dir);
  assert.is(code, 1);
  const [, position] = /damaged: event 2 of stream "case-t.tail", type "Happened", at position (\d+)/.exec(output) ?? [];
  assert.ok(position, output);
  const again = await startStore({ dir });
  const read = await failure(Array.fromAsync(logOf(again).read('case-t.tail')));
  assert.match(read.message, new RegExp(`damaged at position ${position}:`));
  await again.end();
});

test('if the last bytes of a record are changed so that the record seems to begin where an earlier one does, a backwards read ends at that record', async () => {
  const dir = await createStore();
  const intact = openLog(join(dir, 'log'));
  const [written] = readForwards(intact);
  await intact.close();
  const records = [...written];
  const sizes = records.map(([, record]) => record.length);
  const wrong = sizes[5]! + sizes[6]!;
  const trailerAt = records[7]![0] - intact.segments[0]!.base - 4;
  const [segment] = segmentsOf(dir);
  assert.is(readFileSync(segment!).readUInt32LE(trailerAt), sizes[6]);
  flipBits(segment!, trailerAt, (sizes[6]! ^ wrong) & 0xff);
  flipBits(segment!, trailerAt + 1, (sizes[6]! ^ wrong) >> 8);
  const log = openLog(join(dir, 'log'));
  const [backwards, stopped] = readBackwards(log);
  await log.close();
  assert.equal([stopped, backwards.size], [true, written.size - 7]);
  assert.ok(isPartOf(backwards, written));
});

for (const packed of [false, true])
  test(`in a ${packed ? 'scavenged' : 'plain'} segment, one damaged byte at any place makes one event unreadable; no read omits or changes another event`, async () => {
    const dir = await createStore();
    const store = await startStore({ dir });
    const client = clientOf(store);
    for (let n = 0; n < 60; n++)
      await client.appendToStream(`more${n % 7}`, jsonEvent({ type: 'more', data: { n, pad: 'p'.repeat(n * 3) } }));
    if (packed) {
      await client.tombstoneStream('case-t.good');
      runStoreCommand('scavenge', '--dir', dir);
    }
    await client.dispose();
    await store.end();
    const intact = openLog(join(dir, 'log'));
    const [written, ended] = readForwards(intact);
    assert.is(intact.segments[0]!.packed !== undefined, packed);
    assert.is(ended, false);
    await intact.close();
    const size = packed ? intact.segments[0]!.packed!.bytes : intact.segments[0]!.length;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 32, max: size - 1 }), fc.integer({ min: 1, max: 255 }), async (at, bits) => {
        const copy = storeDir();
        cpSync(join(dir, 'log'), join(copy, 'log'), { recursive: true });
        flipBits(segmentsOf(copy)[0]!, at, bits);
        const log = openLog(join(copy, 'log'));
        const [forwards, stopped] = readForwards(log);
        const [backwards, stoppedToo] = readBackwards(log);
        const [each, damaged] = readEach(log, written.keys());
        await log.close();
        rmSync(copy, { recursive: true });
        assert.ok(
          isPartOf(forwards, written) && isPartOf(backwards, written) && isPartOf(each, written),
          'a record was read that was never written',
        );
        assert.equal([stopped, stoppedToo, damaged, each.size], [true, true, 1, written.size - 1], `byte ${at}`);
        assert.is(forwards.size + backwards.size, written.size - 1, 'all records before the damage and all after it');
      }),
      { numRuns: Number(process.env.RUNS ?? 150) },
    );
  });

test.run();
