import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jsonEvent } from '@eventstore/db-client';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { openLog as openClient } from '../../infra/eventstore/client.ts';
import { isDamage } from '../../infra/eventstore/embedded/corruption.ts';
import { openLog } from '../../infra/eventstore/embedded/log.ts';
import { positionAt, sizeAt } from '../../infra/eventstore/embedded/record.ts';
import { type Log, LogError, type NewEvent } from '../../infra/eventstore/event-log.ts';
import { clientOf } from '../fixtures/store-client.ts';
import { flipBits, runStoreCommand, segmentsOf } from '../fixtures/store-files.ts';
import { pause, type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const meta = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 } as const;
let made = 0;
const event = (label: string): NewEvent => ({ id: uuid(made++), type: 'Happened', data: { label }, meta });

const told: string[] = [];
const logOf = ({ url }: StoreProcess): Log => {
  const log = openClient(url, { onDamage: (message) => void told.push(message) });
  afterTest(log.close);
  return log;
};

/** The labels that came, and as what kind of error it ended. */
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

/** A stopped store: three streams, an event of each in turn. The byte behind a label is where its event is harmed. */
const filled = async (): Promise<string> => {
  const store = await startStore();
  const log = logOf(store);
  for (let n = 0; n < 5; n++)
    for (const name of ['hurt', 'kept', 'tail']) await log.append(`case-t.${name}`, n === 0 ? 'none' : n - 1, [event(`${name}${n}`)]);
  assert.is(await store.end(), 0);
  return store.dir;
};

const harm = (dir: string, label: string): void => {
  const [segment] = segmentsOf(dir);
  flipBits(segment!, readFileSync(segment!).indexOf(`"${label}"`) + 1);
};

test('who needs the harmed event is told so for good, everybody else goes on, and verify names it', async () => {
  const dir = await filled();
  harm(dir, 'hurt2');
  const store = await startStore({ dir });
  const log = logOf(store);
  assert.equal(await labels(log.read('case-t.hurt')), [['hurt0', 'hurt1'], 'damaged']);
  assert.equal(await labels(log.read('case-t.hurt', { from: 3 })), [['hurt3', 'hurt4'], null]);
  assert.equal(await labels(log.read('case-t.kept')), [['kept0', 'kept1', 'kept2', 'kept3', 'kept4'], null]);
  assert.is((await log.last('case-t.hurt'))!.revision, 4);
  const [before, ended] = await labels(log.readAll());
  assert.equal([before.slice(-2), ended], [['kept1', 'tail1'], 'damaged']);
  const [after, endedToo] = await labels(log.readAll({ backwards: true }));
  assert.equal([after.slice(-2), endedToo], [['tail2', 'kept2'], 'damaged']);
  await log.append('case-t.hurt', 4, [event('hurt5')]);
  await log.append('case-t.new', 'none', [event('new0')]);
  assert.equal((await labels(log.readAll({ backwards: true, limit: 2 })))[0], ['new0', 'hurt5']);
  assert.ok(told.length > 0 && told.every((message) => /damaged at position \d+/.test(message)));
  const { code, output: said } = runStoreCommand('verify', '--dir', dir);
  assert.is(code, 1);
  assert.match(said, /damaged: event 2 of stream "case-t.hurt", type "Happened"/);
  assert.is(await store.end(), 0);
});

test('a subscription ends at the harmed event with an error, and one from behind it follows', async () => {
  const dir = await filled();
  harm(dir, 'hurt2');
  const store = await startStore({ dir });
  const log = logOf(store);
  const heard: string[] = [];
  const hear = (event: { data: unknown }) => void heard.push((event.data as { label: string }).label);
  const stuck = log.follow({ event: hear });
  const error = await stuck.failure;
  assert.match(error!.message, /damaged at position/);
  assert.equal(heard, ['hurt0', 'kept0', 'tail0', 'hurt1', 'kept1', 'tail1']);
  const [kept2] = await Array.fromAsync(log.read('case-t.kept', { from: 2, limit: 1 }));
  heard.length = 0;
  const going = log.follow({ from: kept2!.position, event: hear });
  await log.append('case-t.kept', 4, [event('kept5')]);
  for (let waits = 0; heard.at(-1) !== 'kept5' && waits < 100; waits++) await pause(20);
  assert.equal(heard, ['tail2', 'hurt3', 'kept3', 'tail3', 'hurt4', 'kept4', 'tail4', 'kept5']);
  const prefixed = log.follow({ filter: { streamPrefixes: ['case-t.kept'] }, event: hear });
  assert.match((await prefixed.failure)!.message, /damaged/, 'whether it passes a filter nobody knows');
  await going.stop();
  await store.end();
});

test('a subscription that had come as far as an event goes on behind it, though it was harmed since', async () => {
  const dir = await filled();
  const whole = await startStore({ dir });
  const places = (await Array.fromAsync(logOf(whole).readAll())).map(
    ({ position, data }) => [(data as { label: string }).label, position] as const,
  );
  await whole.end();
  const place = Object.fromEntries(places);
  for (const [label, next] of [
    ['hurt2', 'kept2'],
    ['tail4', 'more'],
  ] as const) {
    harm(dir, label);
    const store = await startStore({ dir });
    const log = logOf(store);
    const heard: string[] = [];
    const going = log.follow({ from: place[label]!, event: ({ data }) => void heard.push((data as { label: string }).label) });
    if (next === 'more') await log.append('case-t.more', 'none', [event('more')]);
    for (let waits = 0; heard.length === 0 && waits < 100; waits++) await pause(20);
    assert.is(heard[0], next);
    assert.is((await failure(Array.fromAsync(log.readAll({ from: place[label]! })))).kind, 'damaged', 'who reads it needs it');
    await going.stop();
    await store.end();
  }
});

test('an append that has to know a harmed event fails for good, and the store goes on', async () => {
  const dir = await filled();
  harm(dir, 'tail4');
  const store = await startStore({ dir });
  const log = logOf(store);
  const all = await Promise.allSettled([
    log.append('case-t.kept', 4, [event('kept5')]),
    log.append('case-t.tail', 4, [event('tail5')]),
    log.append('case-t.hurt', 4, [event('hurt5')]),
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
  assert.equal((await labels(log.read('case-t.kept')))[0].at(-1), 'kept5');
  assert.is(await store.end(), 0);
});

test('metadata that are harmed are not taken for none', async () => {
  const store = await startStore();
  const client = clientOf(store);
  await client.appendToStream('gone', jsonEvent({ type: 'x', data: { label: 'gone0' } }));
  await client.deleteStream('gone');
  await client.dispose();
  assert.is(await store.end(), 0);
  const [segment] = segmentsOf(store.dir);
  flipBits(segment!, readFileSync(segment!).indexOf('$tb') + 1);
  const again = await startStore({ dir: store.dir });
  const read = await failure(Array.fromAsync(clientOf(again).readStream('gone')));
  assert.match(read.message, /damaged at position/);
  await again.end();
});

test('scavenging takes nothing away that it can not read', async () => {
  const dir = await filled();
  const whole = await startStore({ dir });
  const client = clientOf(whole);
  await client.tombstoneStream('case-t.kept');
  await client.dispose();
  await whole.end();
  harm(dir, 'hurt2');
  const { code, output: said } = runStoreCommand('scavenge', '--dir', dir);
  assert.is.not(code, 0);
  assert.match(said, /damaged at position/);
  assert.match(runStoreCommand('verify', '--dir', dir).output, /event 2 of stream "case-t.hurt"/);
});

test('verify names an event that was harmed after a scavenge too, and its reader is told of the same place', async () => {
  const dir = await filled();
  const store = await startStore({ dir });
  const client = clientOf(store);
  await client.tombstoneStream('case-t.kept');
  runStoreCommand('scavenge', '--dir', dir);
  await client.dispose();
  await store.end();
  harm(dir, 'tail2');
  const { code, output: said } = runStoreCommand('verify', '--dir', dir);
  assert.is(code, 1);
  const [, place] = /damaged: event 2 of stream "case-t.tail", type "Happened", at position (\d+)/.exec(said) ?? [];
  assert.ok(place, said);
  const again = await startStore({ dir });
  const read = await failure(Array.fromAsync(logOf(again).read('case-t.tail')));
  assert.match(read.message, new RegExp(`damaged at position ${place}:`));
  await again.end();
});

type Found = Map<number, string>;

type Page = { readonly bytes: Buffer; readonly next: number };

/** Every record by its position, page by page; and whether it ended with the error that says why. */
const readPages = (from: number, pageAt: (place: number) => Page): [Found, boolean] => {
  const found: Found = new Map();
  try {
    for (let page = pageAt(from); page.bytes.length > 0; page = pageAt(page.next))
      for (let at = 0; at < page.bytes.length; at += sizeAt(page.bytes, at))
        found.set(positionAt(page.bytes, at), page.bytes.toString('latin1', at, at + sizeAt(page.bytes, at)));
    return [found, false];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [found, true];
  }
};

const readForwards = (log: ReturnType<typeof openLog>): [Found, boolean] => readPages(0, (place) => log.intactPage(place, 2_000));
const readBackwards = (log: ReturnType<typeof openLog>): [Found, boolean] => readPages(log.end(), (place) => log.pageBefore(place, 2_000));

const readEach = (log: ReturnType<typeof openLog>, positions: Iterable<number>): [Found, number] => {
  const found: Found = new Map();
  let harmed = 0;
  for (const position of positions)
    try {
      const record = log.recordOrFreed(position);
      if (record) found.set(position, record.toString('latin1'));
    } catch (error) {
      if (!isDamage(error)) throw error;
      harmed++;
    }
  return [found, harmed];
};

const isPartOf = (found: Found, whole: Found): boolean => [...found].every(([position, record]) => whole.get(position) === record);

for (const packed of [false, true])
  test(`whichever byte of a ${packed ? 'scavenged' : 'plain'} segment is harmed: one event is lost, nothing false is read, nothing is passed over`, async () => {
    const dir = await filled();
    const store = await startStore({ dir });
    const client = clientOf(store);
    for (let n = 0; n < 60; n++)
      await client.appendToStream(`more${n % 7}`, jsonEvent({ type: 'more', data: { n, pad: 'p'.repeat(n * 3) } }));
    if (packed) {
      await client.tombstoneStream('case-t.kept');
      runStoreCommand('scavenge', '--dir', dir);
    }
    await client.dispose();
    await store.end();
    const sound = openLog(join(dir, 'log'));
    const [whole, ended] = readForwards(sound);
    assert.is(sound.segments[0]!.packed !== undefined, packed);
    assert.is(ended, false);
    await sound.close();
    const size = packed ? sound.segments[0]!.packed!.bytes : sound.segments[0]!.length;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 32, max: size - 1 }), fc.integer({ min: 1, max: 255 }), async (at, bits) => {
        const copy = storeDir();
        cpSync(join(dir, 'log'), join(copy, 'log'), { recursive: true });
        flipBits(segmentsOf(copy)[0]!, at, bits);
        const log = openLog(join(copy, 'log'));
        const [forwards, stopped] = readForwards(log);
        const [backwards, stoppedToo] = readBackwards(log);
        const [each, harmed] = readEach(log, whole.keys());
        await log.close();
        rmSync(copy, { recursive: true });
        assert.ok(isPartOf(forwards, whole) && isPartOf(backwards, whole) && isPartOf(each, whole), 'only what was written');
        assert.equal([stopped, stoppedToo, harmed, each.size], [true, true, 1, whole.size - 1], `byte ${at}`);
        assert.is(forwards.size + backwards.size, whole.size - 1, 'all before it, all behind it');
      }),
      { numRuns: Number(process.env.RUNS ?? 150) },
    );
  });

test.run();
