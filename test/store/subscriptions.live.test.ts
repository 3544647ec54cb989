import { once } from 'node:events';
import { connect } from 'node:http2';
import { ErrorType, type EventStoreDBClient, isCommandError, jsonEvent, START } from '@eventstore/db-client';
import * as assert from 'uvu/assert';
import { clientOf } from '../fixtures/store-client.ts';
import { pause, processorMs, startStore } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const event = (size = 10) => jsonEvent({ type: 'happened', data: { text: 'x'.repeat(size) } });

const residentMb = async (pid: number): Promise<number> => {
  const { readFileSync } = await import('node:fs');
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
};

/**
 * Writes three streams whose events no subscriber receives: the first stream is deleted, the second is truncated, and
 * the events of the third expire after one second (`maxAge`).
 */
const writeInvisibleEvents = async (client: EventStoreDBClient): Promise<void> => {
  await client.appendToStream('deleted', [event(), event()]);
  await client.deleteStream('deleted');
  await client.appendToStream('cut', [event(), event()]);
  await client.setStreamMetadata('cut', { truncateBefore: 9 });
  await client.setStreamMetadata('aged', { maxAge: 1 });
  await client.appendToStream('aged', event());
};

test('a subscription without new events uses no processor time', async () => {
  const store = await startStore();
  const client = clientOf(store);
  await writeInvisibleEvents(client);
  const subscriptions = ['deleted', 'cut', 'aged', 'nowhere'].map((name) =>
    client.subscribeToStream(name, { fromRevision: START }).on('data', () => {}),
  );
  await pause(1_500);
  const before = processorMs(store.pid);
  await pause(2_000);
  assert.ok(processorMs(store.pid) - before < 200, `${processorMs(store.pid) - before} ms of processor time in two idle seconds`);
  for (const subscription of subscriptions) await subscription.unsubscribe();
  await client.dispose();
  await store.end();
});

test('subscribers that do not read delay no other caller, and use little memory of the event store', async () => {
  const store = await startStore();
  const writer = clientOf(store);
  const lazy = clientOf(store);
  const big = () => Array.from({ length: 20 }, () => event(40_000));
  for (let i = 0; i < 5; i++) await writer.appendToStream('big', big());
  const stalled = Array.from({ length: 20 }, () => lazy.subscribeToAll({ fromPosition: START }).on('error', () => {}));
  for (const subscription of stalled) subscription.once('readable', () => {}).pause();
  await pause(300);
  const before = await residentMb(store.pid);
  for (let i = 0; i < 60; i++) await writer.appendToStream('big', big());
  let read = 0;
  for await (const each of lazy.readStream('big')) if (each.event) read++;
  assert.is(read, 1_300);
  const grown = (await residentMb(store.pid)) - before;
  assert.ok(grown < 200, `the store grew by ${grown.toFixed(0)} MB while twenty subscribers did not read 50 MB each`);
  await Promise.all([writer.dispose(), lazy.dispose()]);
  await store.end();
});

test('with a thousand subscriptions over two hundred connections, each receives all events of its stream', async () => {
  const store = await startStore();
  const clients = Array.from({ length: 200 }, () => clientOf(store));
  const got = new Map<string, number>();
  const subscriptions = clients.flatMap((client, i) =>
    Array.from({ length: 5 }, (_, k) => {
      const name = `many-${(i * 5 + k) % 50}`;
      return client
        .subscribeToStream(name, { fromRevision: START })
        .on('data', () => got.set(`${i}.${k}`, (got.get(`${i}.${k}`) ?? 0) + 1));
    }),
  );
  await pause(1_500);
  await Promise.all(Array.from({ length: 50 }, (_, i) => clients[i]!.appendToStream(`many-${i}`, [event(), event()])));
  for (let attempts = 0; attempts < 100 && [...got.values()].reduce((sum, n) => sum + n, 0) < 2_000; attempts++) await pause(50);
  assert.is(got.size, 1_000);
  assert.ok([...got.values()].every((n) => n === 2));
  await Promise.all(subscriptions.map((subscription) => subscription.unsubscribe()));
  await Promise.all(clients.map((client) => client.dispose()));
  await store.end();
});

test('an event store that shuts down cancels the calls that it has begun to answer, and rejects all others as unavailable', async () => {
  const store = await startStore();
  const client = clientOf(store);
  for (let i = 0; i < 5; i++)
    await client.appendToStream(
      'big',
      Array.from({ length: 20 }, () => event(40_000)),
    );
  const cancelled = (subscription: { once: (name: 'error', then: (error: Error) => void) => unknown }): Promise<string> =>
    new Promise((resolve) => subscription.once('error', (error) => resolve(isCommandError(error) ? error.type : String(error))));
  const live = client.subscribeToStream('big', { fromRevision: START });
  const seen = new Promise((resolve) => live.on('data', ({ event: one }) => one?.revision === 99n && resolve(one)));
  const stalled = client.readAll();
  await Promise.all([seen, once(stalled, 'readable')]);
  const session = connect(`http://127.0.0.1:${store.port}`);
  const path = '/event_store.client.streams.Streams/Append';
  const append = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }).resume();
  await once(session, 'connect');
  const answer = once(append, 'response').finally(() => append.close());
  const ends = [cancelled(live), cancelled(stalled)];
  await pause(50);
  assert.is(await store.end(), 0);
  assert.equal(await Promise.all(ends), [ErrorType.CANCELLED, ErrorType.CANCELLED]);
  const [headers] = (await answer) as [Record<string, string>];
  assert.equal([headers['grpc-status'], headers['grpc-message']], ['14', 'the store is shutting down']);
  session.destroy();
  await client.dispose();
});

test.run();
