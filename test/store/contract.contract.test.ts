import { randomUUID } from 'node:crypto';
import {
  ANY,
  BACKWARDS,
  END,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  START,
  STREAM_EXISTS,
  streamNameFilter,
} from '@eventstore/db-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Metadata, Position } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log, LogError, NewEvent } from '../../infra/eventstore/event-log.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startStore } from '../fixtures/store-process.ts';

// This file tests whether an event store meets the platform's requirements. It tests the embedded store, unless the
// variable EVENTSTORE_URL selects another one.
const externalUrl = process.env.EVENTSTORE_URL ?? process.env.TEST_EVENTSTORE_URL;
const embedded = externalUrl ? undefined : await startStore({ open: false });
const client = EventStoreDBClient.connectionString(externalUrl ?? embedded!.url);
const run = randomUUID().slice(0, 8);
const createdStreams = new Set<string>();
const stream = (name: string): string => {
  const full = `contract-${run}.${name}`;
  createdStreams.add(full);
  return full;
};
const event = (label: string, id: string = randomUUID()) => jsonEvent({ id, type: 'happened', data: { label } });

type Resolved = { event?: { data?: unknown; revision: bigint; streamId: string } };
const labelOf = ({ event: each }: Resolved): string => (each!.data as { label: string }).label;
const labels = async (events: AsyncIterable<Resolved>): Promise<string[]> => {
  const found: string[] = [];
  for await (const each of events) found.push(labelOf(each));
  return found;
};

const typeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: { type: string }) => error.type,
  );

const take = async (subscription: AsyncIterable<Resolved>, count: number): Promise<string[]> => {
  const found: string[] = [];
  for await (const each of subscription) {
    found.push(labelOf(each));
    if (found.length === count) break;
  }
  return found;
};

test('an append succeeds if it expects the current revision of the stream; if it expects any other revision, it fails with a conflict', async () => {
  const { nextExpectedRevision } = await client.appendToStream(stream('a'), [event('0'), event('1')], { expectedRevision: NO_STREAM });
  assert.is(nextExpectedRevision, 1n);
  assert.is(await typeOf(client.appendToStream(stream('a'), event('x'), { expectedRevision: NO_STREAM })), 'wrong-expected-version');
  assert.is(await typeOf(client.appendToStream(stream('a'), event('x'), { expectedRevision: 0n })), 'wrong-expected-version');
  assert.is(await typeOf(client.appendToStream(stream('a'), event('x'), { expectedRevision: 2n })), 'wrong-expected-version');
  await client.appendToStream(stream('a'), event('2'), { expectedRevision: 1n });
  assert.equal(await labels(client.readStream(stream('a'))), ['0', '1', '2']);
});

test('an append that is repeated with the same event ids and expected revision is stored only once', async () => {
  const once = event('once');
  const first = await client.appendToStream(stream('b'), once, { expectedRevision: NO_STREAM });
  await client.appendToStream(stream('b'), event('more'), { expectedRevision: 0n });
  const again = await client.appendToStream(stream('b'), once, { expectedRevision: NO_STREAM });
  assert.equal(again.position, first.position);
  assert.equal(await labels(client.readStream(stream('b'))), ['once', 'more']);
});

test('reading a stream forwards, backwards, from a revision or with a maximum count returns the requested events in order', async () => {
  await client.appendToStream(
    stream('c'),
    Array.from({ length: 600 }, (_, i) => event(String(i))),
  );
  assert.equal(await labels(client.readStream(stream('c'), { fromRevision: 597n })), ['597', '598', '599']);
  assert.equal(await labels(client.readStream(stream('c'), { direction: BACKWARDS, fromRevision: END, maxCount: 2 })), ['599', '598']);
  assert.is((await labels(client.readStream(stream('c')))).length, 600);
  assert.is((await labels(client.readStream(stream('c'), { direction: BACKWARDS, fromRevision: END }))).at(-1), '0');
});

test('reading a missing stream fails with stream-not-found; appending to a missing stream fails with a conflict if the append expects the stream to exist', async () => {
  assert.is(await typeOf(labels(client.readStream(stream('nowhere')))), 'stream-not-found');
  assert.is(
    await typeOf(client.appendToStream(stream('nowhere'), event('x'), { expectedRevision: STREAM_EXISTS })),
    'wrong-expected-version',
  );
});

test('a read of the log includes the event at its start position; a subscription starts after the event at its start position', async () => {
  const { position } = await client.appendToStream(stream('d'), event('0'));
  await client.appendToStream(stream('d'), [event('1'), event('2')]);
  const mine = [];
  for await (const { event: each } of client.readAll({ fromPosition: position! }))
    if (each?.streamId === stream('d')) mine.push(each.revision);
  assert.equal(mine, [0n, 1n, 2n]);
  const filter = streamNameFilter({ prefixes: [stream('d')] });
  assert.equal(await take(client.subscribeToAll({ fromPosition: position!, filter }), 2), ['1', '2']);
});

test('a subscription delivers the stored events first, and new events after them', async () => {
  await client.appendToStream(stream('e'), event('0'));
  const taking = take(client.subscribeToStream(stream('e'), { fromRevision: START }), 3);
  setTimeout(() => void client.appendToStream(stream('e'), [event('1'), event('2')]), 100);
  assert.equal(await taking, ['0', '1', '2']);
});

test('a tombstoned stream can be neither read nor appended to', async () => {
  await client.appendToStream(stream('f'), event('0'));
  await client.tombstoneStream(stream('f'));
  assert.is(await typeOf(labels(client.readStream(stream('f')))), 'stream-deleted');
  assert.is(await typeOf(client.appendToStream(stream('f'), event('1'), { expectedRevision: ANY })), 'stream-deleted');
});

test('if a deleted stream is appended to again, the revisions continue after the last one before the deletion', async () => {
  await client.appendToStream(stream('g'), [event('0'), event('1')]);
  await client.deleteStream(stream('g'));
  const { nextExpectedRevision } = await client.appendToStream(stream('g'), event('2'), { expectedRevision: NO_STREAM });
  assert.is(nextExpectedRevision, 2n);
});

test('a read returns binary data and metadata unchanged', async () => {
  const data = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const metadata = new Uint8Array([1, 2, 3]);
  await client.appendToStream(stream('h'), { id: randomUUID(), type: 'raw', contentType: 'application/octet-stream', data, metadata });
  for await (const { event: each } of client.readStream(stream('h'))) {
    assert.ok(Buffer.from(each!.data as Uint8Array).equals(data));
    assert.equal([...(each!.metadata as Uint8Array)], [1, 2, 3]);
  }
});

const seen = (log: Log, from: Position, prefix: string, count: number): Promise<number[]> =>
  new Promise((resolve) => {
    const revisions: number[] = [];
    const following = log.follow({
      from,
      filter: { streamPrefixes: [prefix] },
      event: ({ revision }) => {
        if (revisions.push(revision) === count) void following.stop().then(() => resolve(revisions));
      },
    });
  });

test('the event log client of the platform can append to the event store under test, read from it and subscribe to it', async () => {
  const log = openLog(externalUrl ?? embedded!.url);
  try {
    await log.ping();
    const name = stream('log');
    const meta: Metadata = { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
    const newEvent = (n: number): NewEvent => ({ id: randomUUID(), type: 'Happened', data: { n }, meta });
    const [one, two, three] = [newEvent(1), newEvent(2), newEvent(3)];
    const first = await log.append(name, 'none', [one, two]);
    assert.equal(await log.append(name, 'none', [one, two]), first);
    const kind = await log.append(name, 'none', [three]).catch((error: LogError) => error.kind);
    assert.is(kind, 'conflict');
    const { position } = (await Array.fromAsync(log.read(name)))[0]!;
    const following = seen(log, position, name, 2);
    await log.append(name, 1, [three]);
    assert.equal(await following, [1, 2]);
    assert.equal((await log.last(name))?.data, { n: 3 });
    const from = await Array.fromAsync(log.readAll({ from: position, limit: 1 }));
    assert.equal([from[0]?.stream, from[0]?.revision, from[0]?.actor], [name, 0, meta.actor]);
  } finally {
    await log.close();
  }
});

afterLastTest(async () => {
  for (const name of createdStreams) await client.deleteStream(name).catch(() => {});
  await client.dispose();
  assert.is((await embedded?.end()) ?? 0, 0);
});

test.run();
