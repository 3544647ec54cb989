import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import * as assert from 'uvu/assert';
import { createReadBuffer } from '../../infra/eventstore/embedded/log/read-buffer.ts';
import { findText } from '../faults/secret-search.ts';
import { mainFile } from '../fixtures/child-process.ts';
import { clientOf } from '../fixtures/store-client.ts';
import { flipBits, runStoreCommand } from '../fixtures/store-files.ts';
import { type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const event = (label: string, size = 0) => jsonEvent({ type: 'happened', data: { label, pad: 'p'.repeat(size) } });

const labels = async (client: EventStoreDBClient, stream: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const { event: each } of client.readStream(stream)) found.push((each!.data as { label: string }).label);
  return found;
};

const withClient = async (store: StoreProcess, work: (client: EventStoreDBClient) => Promise<void>): Promise<void> => {
  const client = clientOf(store);
  await work(client);
  await client.dispose();
};

/** Creates a store with 20 events, and stops it. @returns its directory */
const createStore = async (): Promise<string> => {
  const store = await startStore();
  await withClient(store, async (client) => {
    for (let i = 0; i < 20; i++) await client.appendToStream('items', event(`k${i}`));
  });
  await store.end();
  return store.dir;
};

const segmentOf = (dir: string): string => join(dir, 'log', readdirSync(join(dir, 'log')).filter((name) => name.endsWith('.log'))[0]!);

/** Returns the size of a segment file in bytes, without the zeros at its end, which only reserve space. */
const writtenSize = (path: string): number => readFileSync(path).findLastIndex((byte) => byte !== 0) + 1;

test('while a process serves a directory, another one cannot serve it; after the first process has ended or was killed, the other one can', async () => {
  const first = await startStore();
  const second = runStoreCommand('serve', '--dir', first.dir, '--port', '0');
  assert.is.not(second.code, 0);
  assert.match(second.output, /is served by another process/);
  assert.is(second.output.trim().split('\n').length, 1);
  await first.end('SIGKILL');
  const third = await startStore({ dir: first.dir });
  assert.is(await third.end(), 0);
});

test('the event store denies appends, reads and deletions if the caller does not send the secret of the store', async () => {
  const store = await startStore({ open: false });
  assert.is(statSync(join(store.dir, 'secret')).mode & 0o777, 0o600);
  await withClient(store, async (client) => void (await client.appendToStream('mine', event('0'))));
  const [address] = store.url.split('&');
  const stranger = clientOf({ ...store, url: address! });
  const type = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: { type: string }) => error.type,
    );
  assert.is(await type(stranger.appendToStream('mine', event('x'))), 'access-denied');
  assert.is(await type(labels(stranger, 'mine')), 'access-denied');
  assert.is(await type(stranger.deleteStream('mine')), 'access-denied');
  await stranger.dispose();
  await store.end();
});

test('the command `verify` names the damaged event; a store with a damaged log does not start if the start has to rebuild the index', async () => {
  const dir = await createStore();
  assert.is(runStoreCommand('verify', '--dir', dir).code, 0);
  const segment = segmentOf(dir);
  flipBits(segment, readFileSync(segment).indexOf('"k7"') + 1);
  const { code, output } = runStoreCommand('verify', '--dir', dir);
  assert.is(code, 1);
  assert.match(output, /event 7 of stream "items", type "happened"/);
  rmSync(join(dir, 'index'), { recursive: true });
  await startStore({ dir }).then(
    () => assert.unreachable('it started'),
    (error: Error) => assert.match(error.message, /damaged at position/),
  );
});

test('a start of the event store removes an append that a crash has interrupted', async () => {
  const store = await startStore();
  await withClient(store, async (client) => {
    await client.appendToStream('items', [event('a'), event('b')]);
    await client.appendToStream('items', [event('c'), event('d')]);
  });
  await store.end('SIGKILL');
  const segment = segmentOf(store.dir);
  truncateSync(segment, writtenSize(segment) - 7);
  const again = await startStore({ dir: store.dir });
  await withClient(again, async (client) => {
    assert.equal(await labels(client, 'items'), ['a', 'b']);
    await client.appendToStream('items', event('e'), { expectedRevision: 1n });
  });
  await again.end();
  assert.is(runStoreCommand('verify', '--dir', store.dir).code, 0);
});

test('if the index is damaged, a start of the event store rebuilds it from the log', async () => {
  const dir = await createStore();
  for (const name of readdirSync(join(dir, 'index')).filter((each) => each.endsWith('.table')))
    writeFileSync(join(dir, 'index', name), 'no table');
  const store = await startStore({ dir });
  await withClient(store, async (client) => assert.is((await labels(client, 'items')).length, 20));
  await store.end();
});

test('a backup that is made while events are appended is a complete event store, which a process can serve', async () => {
  const store = await startStore();
  const to = join(storeDir(), 'copy');
  await withClient(store, async (client) => {
    await client.appendToStream('before', event('0'));
    let writing = true;
    const writes = (async () => {
      for (let i = 0; writing; i++) await client.appendToStream('during', event(String(i)));
    })();
    const code = await new Promise((resolve) =>
      spawn(process.execPath, [mainFile, 'store', 'backup', '--dir', store.dir, '--to', to]).on('close', resolve),
    );
    writing = false;
    await writes;
    assert.is(code, 0);
  });
  await store.end();
  assert.is(runStoreCommand('verify', '--dir', to).code, 0);
  const copy = await startStore({ dir: to });
  await withClient(copy, async (client) => {
    assert.equal(await labels(client, 'before'), ['0']);
    const during = await labels(client, 'during');
    assert.equal(
      during,
      during.map((_, i) => String(i)),
    );
  });
  await copy.end();
});

const sizeOf = (dir: string): number => readdirSync(join(dir, 'log')).reduce((sum, name) => sum + statSync(join(dir, 'log', name)).size, 0);

const writeAndRelease = async (client: EventStoreDBClient): Promise<void> => {
  for (const name of ['counted', 'cut', 'deleted', 'tombstoned', 'untouched'])
    for (let i = 0; i < 30; i++) await client.appendToStream(name, event(`${name}${i}`, 2_000));
  await client.setStreamMetadata('counted', { maxCount: 3 });
  await client.setStreamMetadata('cut', { truncateBefore: 28 });
  await client.deleteStream('deleted');
  await client.tombstoneStream('tombstoned');
};

const checkVisible = async (client: EventStoreDBClient): Promise<void> => {
  assert.equal(await labels(client, 'counted'), ['counted27', 'counted28', 'counted29']);
  assert.equal(await labels(client, 'cut'), ['cut28', 'cut29']);
  assert.is((await labels(client, 'untouched')).length, 30);
  await labels(client, 'tombstoned').then(
    () => assert.unreachable(),
    (error: { type: string }) => assert.is(error.type, 'stream-deleted'),
  );
};

for (const running of [true, false])
  test(`scavenging a ${running ? 'running' : 'stopped'} store removes events that are no longer visible, and changes nothing else`, async () => {
    let store = await startStore({ open: false });
    await withClient(store, writeAndRelease);
    if (!running) await store.end();
    const before = sizeOf(store.dir);
    const { code, output } = runStoreCommand('scavenge', '--dir', store.dir);
    assert.is(code, 0, output);
    assert.ok(sizeOf(store.dir) < before * 0.5, `${before} bytes became ${sizeOf(store.dir)}`);
    for (let round = 0; round < 2; round++) {
      if (!running || round > 0) store = await startStore({ dir: store.dir, open: false });
      await withClient(store, async (client) => {
        await checkVisible(client);
        const revived = await client.appendToStream('deleted', event('again'));
        assert.is(revived.nextExpectedRevision, BigInt(30 + round));
      });
      await store.end();
      rmSync(join(store.dir, 'index'), { recursive: true });
    }
    assert.is(runStoreCommand('verify', '--dir', store.dir).code, 0);
    assert.ok(existsSync(store.dir));
  });

test('scavenging removes the events of a stream that was just tombstoned, even if the index on disk contains them', async () => {
  let store = await startStore();
  await withClient(store, async (client) => void (await client.appendToStream('erased', event('erased-content'))));
  // Stop the store, so that it writes its index to disk.
  await store.end();
  store = await startStore({ dir: store.dir, open: false });
  await withClient(store, async (client) => void (await client.tombstoneStream('erased')));
  assert.ok(findText('erased-content', [store.dir]).length > 0);
  const { code, output } = runStoreCommand('scavenge', '--dir', store.dir);
  assert.is(code, 0, output);
  assert.equal(findText('erased-content', [store.dir]), []);
  await store.end();
  assert.is(runStoreCommand('verify', '--dir', store.dir).code, 0);
});

test('after a segment is scavenged, the read buffer no longer returns a cached record of it', () => {
  const readBuffer = createReadBuffer();
  const segment = { path: '', file: 0, base: 0, length: 100, packed: undefined };
  const read = (text: string) => readBuffer.reuse().subarray(0, readBuffer.reuse().write(text));
  readBuffer.remember(50, segment, read('event'));
  assert.is(readBuffer.copyOf(50)?.toString(), 'event');
  assert.is(readBuffer.copyOf(51), undefined);
  // Simulate that scavenging replaces the segment by a packed one.
  Object.assign(segment, { packed: { positions: new Float64Array(), offsets: new Float64Array(), bytes: 0 } });
  assert.is(readBuffer.copyOf(50), undefined);
  readBuffer.remember(60, segment, read('another'));
  readBuffer.remember(61, segment, Buffer.from('a larger one, which lies elsewhere'));
  assert.is(readBuffer.copyOf(60)?.toString(), 'another');
  readBuffer.reuse();
  assert.is(readBuffer.copyOf(60), undefined);
});

test.run();
