import { randomUUID } from 'node:crypto';
import {
  type AppendExpectedRevision,
  type AppendResult,
  type EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  streamNameFilter,
} from '@eventstore/db-client';
import * as assert from 'uvu/assert';
import { freePort } from '../../infra/supervision/ports.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { clientOf } from '../fixtures/store-client.ts';
import { pause, type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const WRITERS = 16;
const KILLS = 5;
/** The minimum number of events between two kills. */
const MIN_APPENDS = 50;

const writtenEvent = (id?: string) => jsonEvent({ ...(id ? { id } : {}), type: 'written', data: {} });

type WriteLog = { acknowledged: Map<string, string>; conflicts: number; running: boolean };

/**
 * Appends events one by one. Each expects the last acknowledged revision. After an error, sends the same event again
 * with the same expected revision.
 */
const write = async (client: EventStoreDBClient, stream: string, writes: WriteLog): Promise<void> => {
  let expectedRevision: AppendExpectedRevision = NO_STREAM;
  while (writes.running) {
    const id = randomUUID();
    for (let done = false; !done && writes.running; ) {
      try {
        const { nextExpectedRevision }: AppendResult = await client.appendToStream(stream, writtenEvent(id), { expectedRevision });
        writes.acknowledged.set(id, `${stream}@${nextExpectedRevision}`);
        expectedRevision = nextExpectedRevision;
        done = true;
      } catch (error) {
        if ((error as { type?: string }).type === 'wrong-expected-version') writes.conflicts++;
        await pause(20);
      }
    }
  }
};

/**
 * Subscribes to the streams of all writers. If the subscription breaks, subscribes again after the last received
 * position.
 */
const follow = async (client: EventStoreDBClient, seen: string[], writes: { running: boolean }): Promise<void> => {
  let fromPosition: { commit: bigint; prepare: bigint } | 'start' = 'start';
  while (writes.running) {
    try {
      for await (const { event } of client.subscribeToAll({ fromPosition, filter: streamNameFilter({ prefixes: ['kill-'] }) })) {
        if (!event?.position) continue;
        seen.push(event.id);
        fromPosition = event.position;
      }
    } catch {
      await pause(20);
    }
  }
};

const stored = async (client: EventStoreDBClient): Promise<Map<string, string>> => {
  const found = new Map<string, string>();
  for await (const { event } of client.readAll())
    if (event?.streamId.startsWith('kill-')) found.set(event.id, `${event.streamId}@${event.revision}`);
  return found;
};

/** Kills the store at a random time, but not before this many events have been acknowledged, and starts it again. */
const killAndRestart = async (store: StoreProcess, { acknowledged }: WriteLog): Promise<StoreProcess> => {
  const due = acknowledged.size + MIN_APPENDS;
  await pause(250 + Math.random() * 350);
  const isOver = deadline(10_000);
  while (acknowledged.size < due && !isOver()) await pause(20);
  await store.end('SIGKILL');
  await pause(50);
  return startStore({ dir: store.dir, port: store.port });
};

test('while sixteen writers append and the event store is killed repeatedly, every acknowledged event is stored exactly once', async () => {
  let store = await startStore({ dir: storeDir(), port: await freePort() });
  const client = clientOf(store);
  const writes: WriteLog = { acknowledged: new Map(), conflicts: 0, running: true };
  const seen: string[] = [];
  const following = { running: true };
  const subscriber = follow(client, seen, following);
  const writers = Array.from({ length: WRITERS }, (_, i) => write(client, `kill-${i}`, writes));
  for (let kill = 0; kill < KILLS; kill++) store = await killAndRestart(store, writes);
  await pause(500);
  writes.running = false;
  await Promise.all(writers);
  const found = await stored(client);
  for (let attempts = 0; seen.length < found.size && attempts < 100; attempts++) await pause(50);
  following.running = false;
  await client.dispose();
  await store.end();
  await subscriber;

  assert.ok(writes.acknowledged.size > 200, `only ${writes.acknowledged.size} appends in ${KILLS} kills`);
  const lost = [...writes.acknowledged].filter(([id, revision]) => found.get(id) !== revision);
  assert.equal(lost, []);
  assert.is(writes.conflicts, 0);
  assert.ok(found.size - writes.acknowledged.size <= WRITERS, 'more events are stored than were acknowledged or in flight');
  assert.is(new Set(seen).size, seen.length, 'the subscriber saw an event twice');
  assert.equal(
    [...found.keys()].filter((id) => !seen.includes(id)),
    [],
  );
});

test('an event store that is stopped by a signal exits with code 0, and has its events when it is started again', async () => {
  const store = await startStore();
  const client = clientOf(store);
  await client.appendToStream('calm', writtenEvent());
  await client.dispose();
  assert.is(await store.end(), 0);
  const again = await startStore({ dir: store.dir });
  const reader = clientOf(again);
  const events = [];
  for await (const { event } of reader.readStream('calm')) events.push(event?.type);
  assert.equal(events, ['written']);
  await reader.dispose();
  assert.is(await again.end('SIGINT'), 0);
});

test.run();
