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
import { clientOf } from '../fixtures/store-client.ts';
import { pause, type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const WRITERS = 16;
const KILLS = 5;

const written = (id?: string) => jsonEvent({ ...(id ? { id } : {}), type: 'written', data: {} });

type Tally = { acknowledged: Map<string, string>; conflicts: number; running: boolean };

/** Appends at the revision it knows; after an error the same event at the same revision again. */
const write = async (client: EventStoreDBClient, stream: string, tally: Tally): Promise<void> => {
  let expectedRevision: AppendExpectedRevision = NO_STREAM;
  while (tally.running) {
    const id = randomUUID();
    for (let done = false; !done && tally.running; ) {
      try {
        const { nextExpectedRevision }: AppendResult = await client.appendToStream(stream, written(id), { expectedRevision });
        tally.acknowledged.set(id, `${stream}@${nextExpectedRevision}`);
        expectedRevision = nextExpectedRevision;
        done = true;
      } catch (error) {
        if ((error as { type?: string }).type === 'wrong-expected-version') tally.conflicts++;
        await pause(20);
      }
    }
  }
};

/** Follows the streams and begins anew behind its last position when the store is lost. */
const follow = async (client: EventStoreDBClient, seen: string[], tally: { running: boolean }): Promise<void> => {
  let fromPosition: { commit: bigint; prepare: bigint } | 'start' = 'start';
  while (tally.running) {
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

const killed = async (store: StoreProcess): Promise<StoreProcess> => {
  await pause(250 + Math.random() * 350);
  await store.end('SIGKILL');
  await pause(50);
  return startStore({ dir: store.dir, port: store.port });
};

test('what was acknowledged is stored, once, however often the store is killed under sixteen writers', async () => {
  let store = await startStore({ dir: storeDir(), port: await freePort() });
  const client = clientOf(store);
  const tally: Tally = { acknowledged: new Map(), conflicts: 0, running: true };
  const seen: string[] = [];
  const following = { running: true };
  const subscriber = follow(client, seen, following);
  const writers = Array.from({ length: WRITERS }, (_, i) => write(client, `kill-${i}`, tally));
  for (let kill = 0; kill < KILLS; kill++) store = await killed(store);
  await pause(500);
  tally.running = false;
  await Promise.all(writers);
  const found = await stored(client);
  for (let patience = 0; seen.length < found.size && patience < 100; patience++) await pause(50);
  following.running = false;
  await client.dispose();
  await store.end();
  await subscriber;

  assert.ok(tally.acknowledged.size > 200, `only ${tally.acknowledged.size} appends in ${KILLS} kills`);
  const lost = [...tally.acknowledged].filter(([id, place]) => found.get(id) !== place);
  assert.equal(lost, []);
  assert.is(tally.conflicts, 0);
  assert.ok(found.size - tally.acknowledged.size <= WRITERS, 'more was stored than acknowledged and under way');
  assert.is(new Set(seen).size, seen.length, 'the subscriber saw an event twice');
  assert.equal(
    [...found.keys()].filter((id) => !seen.includes(id)),
    [],
  );
});

test('a store that ends on request leaves nothing to read again', async () => {
  const store = await startStore();
  const client = clientOf(store);
  await client.appendToStream('calm', written());
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
