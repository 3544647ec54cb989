import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { usageCounting } from '../../infra/billing/count-usage.ts';
import { followerPositions } from '../../infra/projector/follower-positions.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { followEvents } from '../../infra/reactors/follow-events.ts';
import { openReactorSessions } from '../../infra/reactors/reactor-sessions.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { type MemoryLog, memoryLog } from '../fixtures/memory-log.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const meta = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 } as const;
const record = (log: MemoryLog, id: string, type = 'SkillDeleted') =>
  log.append(`skill-t.${id}`, 'none', [{ id: randomUUID(), type, data: {}, meta }]);

/** Opens a database, and a function that starts a follower which handles events with `handle`. */
const openFollowers = async () => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await createSystemTables(client);
  const sessions = openReactorSessions(databaseUrl, silentLogger);
  afterTest(() => Promise.all([client.end(), sessions.close()]));
  const start = (log: MemoryLog, handle: (id: string) => Promise<void> | void) =>
    followEvents(
      { name: 'test', eventTypes: ['SkillDeleted'], handle: async ({ id }) => handle(id), failure: 'failed' },
      { log, logger: silentLogger, positions: followerPositions(log, sessions) },
    );
  /** Follows until `until` has been handled. @returns the ids of all events that were handled */
  const handledUntil = async (log: MemoryLog, until: string): Promise<string[]> => {
    const handled: string[] = [];
    const follower = start(log, (id) => void handled.push(id));
    await waitUntil(`${until} is handled`, () => handled.includes(until), Boolean);
    await follower.close();
    return handled;
  };
  return { client, start, handledUntil };
};

test('a follower handles the events that were recorded while it did not run, and none that it has handled before', async () => {
  const { handledUntil } = await openFollowers();
  const log = memoryLog();
  for (const id of ['a', 'b']) await record(log, id);
  assert.equal(await handledUntil(log, 'b'), ['a', 'b']);
  for (let n = 0; n < 300; n++) await record(log, `other${n}`, 'SkillCreated');
  for (const id of ['c', 'd']) await record(log, id);
  assert.equal(await handledUntil(log, 'd'), ['c', 'd']);
});

test('a follower that is closed while it finds out where to start ends at once, and follows nothing', async () => {
  const { start } = await openFollowers();
  const log = memoryLog();
  await record(log, 'a');
  const handled: string[] = [];
  const followers = [start(log, (id) => void handled.push(id)), usageCounting.start({ log, logger: silentLogger })];
  const closed = Promise.all(followers.map(({ close }) => close())).then(() => 'closed');
  assert.is(await Promise.race([closed, sleep(5_000, 'still open', { ref: false })]), 'closed');
  assert.equal(handled, []);
});

test('an event whose handling fails until the process ends is handled after the next start, before later events', async () => {
  const { start, handledUntil } = await openFollowers();
  const log = memoryLog();
  const tried: string[] = [];
  for (const id of ['a', 'b', 'c']) await record(log, id);
  const failing = start(log, (id) => {
    tried.push(id);
    if (id === 'b') throw new Error('a service is unavailable');
  });
  await waitUntil('b was tried', () => tried.includes('b'), Boolean);
  await failing.close();
  assert.equal(await handledUntil(log, 'c'), ['b', 'c']);
});

test('if the log ends before the stored position, because a backup was restored, a follower handles all events', async () => {
  const { handledUntil } = await openFollowers();
  const [log, restored] = [memoryLog(), memoryLog()];
  for (const id of ['a', 'b', 'c']) await record(log, id);
  await handledUntil(log, 'c');
  await record(restored, 'a');
  assert.equal(await handledUntil(restored, 'a'), ['a']);
  await record(restored, 'd');
  assert.equal(await handledUntil(restored, 'd'), ['d']);
});

test('while the database cannot be read, a follower waits, and then starts at its position', async () => {
  const { client, handledUntil } = await openFollowers();
  const log = memoryLog();
  await record(log, 'a');
  await handledUntil(log, 'a');
  await client.query('alter table annals.followers rename to hidden');
  await record(log, 'b');
  const handling = handledUntil(log, 'b');
  await client.query('alter table annals.hidden rename to followers');
  assert.equal(await handling, ['b']);
});

test.run();
