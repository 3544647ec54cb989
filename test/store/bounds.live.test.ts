import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { binaryEvent } from '@eventstore/db-client';
import * as assert from 'uvu/assert';
import { bytesField, framedMessage, messageField, textField, uintField } from '../../infra/eventstore/embedded/encoding/protobuf.ts';
import { streamPage } from '../../infra/eventstore/embedded/index/stream-page.ts';
import { revisionAt } from '../../infra/eventstore/embedded/log/record.ts';
import { openStore } from '../../infra/eventstore/embedded/store.ts';
import { append, proposedEvent, rethrow } from '../fixtures/embedded-store.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { clientOf } from '../fixtures/store-client.ts';
import { pause, startStore, storeDir } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const LARGE = 100_000;

for (const backwards of [false, true])
  test(`reading a stream ${backwards ? 'backwards' : 'forwards'} in pages returns every event, and a page of large events contains fewer of them`, async () => {
    const store = openStore(storeDir(), rethrow);
    for (let at = -1; at < 39; at++) await append(store, 'large', at, [proposedEvent(at % 10 === 0 ? 10 : LARGE)]);
    for (let at = -1; at < 600; at += 100)
      await append(
        store,
        'small',
        at,
        Array.from({ length: 100 }, () => proposedEvent()),
      );
    for (const [name, maxEvents] of [
      ['large', 3],
      ['small', 256],
    ] as const) {
      const stream = store.streams.get(name);
      const seen: number[] = [];
      const range = { from: 0, to: stream.last, backwards };
      while (range.from <= range.to) {
        const before = seen.length;
        const next = streamPage(store, stream, range, (bytes, at) => seen.push(revisionAt(bytes, at)));
        assert.ok(seen.length > before && seen.length - before <= maxEvents, `${seen.length - before} events of ${name} in a page`);
        if (backwards) range.to = next;
        else range.from = next;
      }
      const all = Array.from({ length: stream.last + 1 }, (_, revision) => revision);
      assert.equal(seen, backwards ? all.reverse() : all);
    }
    await store.close();
  });

const STREAMS = '/event_store.client.streams.Streams';
const EMPTY = Buffer.alloc(0);

const proposedMessage = (custom: Buffer): Buffer =>
  Buffer.concat([
    messageField(1, textField(2, randomUUID())),
    messageField(2, textField(1, 'type'), textField(2, 'happened')),
    bytesField(3, custom),
  ]);
const target = (stream: string): Buffer => Buffer.concat([messageField(1, textField(3, stream)), bytesField(4, EMPTY)]);
const batchPart = (stream: string, custom: Buffer, isFinal: boolean): Buffer =>
  framedMessage(
    messageField(1, textField(2, randomUUID())),
    bytesField(2, target(stream)),
    bytesField(3, proposedMessage(custom)),
    uintField(4, isFinal ? 1 : 0),
  );

/**
 * Connects to a store with an HTTP/2 flow-control window of 0 bytes. The store can then send headers and trailers, but
 * no response messages.
 */
const connectWithoutReading = async (options = {}) => {
  const store = await startStore(options);
  const session = connect(`http://127.0.0.1:${store.port}`, { settings: { initialWindowSize: 0 } });
  session.on('error', () => {});
  afterTest(() => session.destroy());
  return (path: string) => {
    const call = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    const status = new Promise<string>((resolve) => {
      const readStatus = (headers: Record<string, unknown>) => {
        if (headers['grpc-status'] !== undefined) resolve(`${headers['grpc-status']} ${headers['grpc-message'] ?? ''}`);
      };
      call
        .on('response', readStatus)
        .on('trailers', readStatus)
        .on('error', (error) => resolve(String(error)))
        .on('close', () => resolve('closed'));
    });
    const timeout = pause(5_000 * loadFactor()).then(() => 'no answer');
    return { call, status: Promise.race([status, timeout]) };
  };
};

/** Writes `total` bytes to a call. @returns true, or false if the store receives nothing for one second */
const acceptsAll = async (call: ClientHttp2Stream, part: () => Buffer, total: number): Promise<boolean> => {
  for (let sent = 0; sent < total; ) {
    const next = part();
    sent += next.length;
    if (call.write(next)) continue;
    const isDrained = await Promise.race([once(call, 'drain').then(() => true), pause(1_000 * loadFactor()).then(() => false)]);
    if (!isDrained) return false;
  }
  return true;
};

test('the event store stops receiving appends from a caller that does not read its responses', async () => {
  const startCall = await connectWithoutReading();
  const { call } = startCall(`${STREAMS}/BatchAppend`);
  const name = 'n'.repeat(100_000);
  assert.not(await acceptsAll(call, () => batchPart(name, EMPTY, true), 60_000_000));
});

test('a read of a stream with large events reaches the end of the stream', async () => {
  const store = await startStore();
  const client = clientOf(store);
  for (let n = 0; n < 4; n++) await client.appendToStream('large', binaryEvent({ type: 'happened', data: new Uint8Array(1_000_000) }));
  const read = async (): Promise<number> => (await Array.fromAsync(client.readStream('large'))).length;
  assert.is(await Promise.race([read(), pause(5_000 * loadFactor())]), 4);
  await client.dispose();
});

test('the event store rejects an append above the size limit, and a BatchAppend call whose unfinished appends together exceed the limit for a call', async () => {
  const startCall = await connectWithoutReading();
  const custom = Buffer.alloc(4 << 20, 1);
  const append = startCall(`${STREAMS}/Append`);
  append.call.write(framedMessage(bytesField(1, target('much'))));
  for (let n = 0; n < 5; n++) append.call.write(framedMessage(bytesField(2, proposedMessage(custom))));
  assert.match(await append.status, /^3 Maximum Append Size of 16777216 Exceeded/);
  const batch = startCall(`${STREAMS}/BatchAppend`);
  for (let n = 0; n < 18; n++) batch.call.write(batchPart(`unfinished${n}`, custom, false));
  assert.is(await Promise.race([once(batch.call, 'response').then(() => 'refused'), batch.status]), 'refused');
});

test('the event store rejects a large message from a caller that does not send the secret of the store', async () => {
  const startCall = await connectWithoutReading({ open: false });
  const { call, status } = startCall('/event_store.client.server_features.ServerFeatures/GetSupportedMethods');
  call.write(framedMessage(Buffer.alloc(2_000)));
  assert.match(await status, /^8 /);
});

test('if a client ends a call before its first message or in the middle of a message, the call gets an error status', async () => {
  const startCall = await connectWithoutReading();
  const half = framedMessage(Buffer.alloc(100)).subarray(0, 50);
  const statusOf = async (method: string, body: Buffer): Promise<string> => {
    const { call, status } = startCall(method);
    call.end(body);
    return status;
  };
  for (const method of ['Read', 'Delete', 'Tombstone'])
    assert.match(await statusOf(`${STREAMS}/${method}`, EMPTY), /^3 the call has no message/);
  for (const method of ['Read', 'Delete', 'Append', 'BatchAppend'])
    assert.match(await statusOf(`${STREAMS}/${method}`, half), /^8 half a message/);
});

test('after an error about a stream whose name is too long for a response header, the connection can still be used', async () => {
  const startCall = await connectWithoutReading();
  const name = '🙂'.repeat(50_000);
  for (let n = 0; n < 3; n++) {
    const { call, status } = startCall(`${STREAMS}/Delete`);
    call.end(framedMessage(bytesField(1, target(name))));
    assert.match(await status, /^9 .*WrongExpectedVersion/);
  }
});

test.run();
