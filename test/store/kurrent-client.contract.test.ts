// own process: the client of KurrentDB registers its messages under the names that the client of EventStoreDB uses
import { jsonEvent, KurrentDBClient, NO_STREAM, START } from '@kurrent/kurrentdb-client';
import * as assert from 'uvu/assert';
import { startStore } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

test('the KurrentDB client can append, read and subscribe, with the secret in its connection string', async () => {
  const store = await startStore({ open: false });
  const client = KurrentDBClient.connectionString(store.url.replace('esdb:', 'kurrentdb:'));
  const event = (label: string) => jsonEvent({ type: 'happened', data: { label } });
  const { nextExpectedRevision } = await client.appendToStream('smoke', [event('0'), event('1')], { streamState: NO_STREAM });
  assert.is(nextExpectedRevision, 1n);

  const read: unknown[] = [];
  for await (const { event: each } of client.readStream('smoke')) read.push(each?.data);
  assert.equal(read, [{ label: '0' }, { label: '1' }]);

  let all = 0;
  for await (const { event: each } of client.readAll()) if (each?.streamId === 'smoke') all++;
  assert.is(all, 2);

  const live: unknown[] = [];
  setTimeout(() => void client.appendToStream('smoke', event('2')), 50);
  for await (const { event: each } of client.subscribeToStream('smoke', { fromRevision: START })) {
    live.push(each?.data);
    if (live.length === 3) break;
  }
  assert.equal(live.at(-1), { label: '2' });
  const conflict = await client
    .appendToStream('smoke', event('x'), { streamState: NO_STREAM })
    .catch((error: { type: string }) => error.type);
  assert.is(conflict, 'wrong-expected-version');
  await client.dispose();
  assert.is(await store.end(), 0);
});

test.run();
