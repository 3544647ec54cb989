import fc from 'fast-check';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { type Position, tokenOf } from '../../domain/event.ts';
import { isCheckpointConflict } from '../../infra/projector/commit-batch.ts';
import { openProjectionWriter, type ProjectionWriter } from '../../infra/projector/projection-writer.ts';
import { openRowBudget, openRowCache } from '../../infra/projector/row-cache.ts';
import { createSchema, createSystemTables } from '../../infra/projector/schema.ts';
import { writeBatch, writeCheckpoints } from '../../infra/projector/write-batch.ts';
import { watchCheckpoints } from '../../infra/readmodel/checkpoint-watch.ts';
import type { StoredRow } from '../../projections/engine/compiled-projection.ts';
import {
  checkpointOf,
  comparableRows,
  foldedRows,
  query,
  rowsIn,
  silentLogger,
  startProjectionPlatform,
  waitForProjection,
  waitUntil,
} from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { appendEvents, type EventSpec, ideas, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const noted = (id: string): EventSpec => [id, 'IdeaNoted', { title: id }];

/**
 * Applies the events in parts. Each part is applied by a new worker with an empty row cache. @returns the parked events
 */
const parkedAfter = async (parts: readonly (readonly EventSpec[])[]) => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const events = recordedEvents(parts.flat());
  for (const { length } of parts) {
    await appendEvents(log, events.slice(log.events.length, log.events.length + length));
    const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
    await waitForProjection(reads, log, 'ideas');
    await close();
  }
  for (const table of ['ideas', 'tags'])
    assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', table)), comparableRows(await foldedRows(log, ideas, table)));
  return query(databaseUrl, 'select stream, revision::integer as revision, reason from annals.parked order by stream, revision');
};

test('an insert overwrites an existing row if the last event that changed the row belongs to the same stream; otherwise the event of the insert is parked', async () => {
  const parked = await parkedAfter([
    [noted('a'), ['a', 'IdeaTagged', { tag: 'x' }], ['b', 'IdeaViewed']],
    [noted('c'), ['b', 'IdeaTagged', { tag: 'x' }], noted('a'), ['b', 'IdeaTagged', { tag: 'y' }], ['c', 'IdeaTagged', { tag: 'z' }]],
    [noted('d'), noted('a'), ['a', 'IdeaTagged', { tag: 'x' }]],
  ]);
  // If the last worker has retried the parked event, the reason names a later change of the row, by the event with
  // revision 4.
  const [, retried = ''] = /@(4)$/.exec(parked[0]?.reason as string) ?? [];
  assert.equal(parked, [
    { stream: 'idea-t.b', revision: 1, reason: `tags: the row already exists, last changed by idea-t.a@${retried || 1}` },
    { stream: 'idea-t.b', revision: 2, reason: 'follows a parked event of its stream' },
  ]);
});

test('after an insert is skipped for a parked event, later events of other streams still change the existing row', async () => {
  const parked = await parkedAfter([
    [noted('a'), ['a', 'IdeaTorn', { title: 'torn' }]],
    [noted('a'), ['b', 'IdeaLinked', { to: 'a' }]],
  ]);
  assert.equal(
    parked.map(({ stream, revision }) => [stream, revision]),
    [
      ['idea-t.a', 1],
      ['idea-t.a', 2],
    ],
  );
});

test("if a batch changes no row of a projection, the projection's new position is announced at once, but the checkpoint is written later", async () => {
  const databaseUrl = await freshDatabase();
  const db = new pg.Client({ connectionString: databaseUrl, pipeline: true });
  await db.connect();
  afterTest(() => db.end());
  await createSystemTables(db);
  const notifications: (string | undefined)[] = [];
  db.on('notification', ({ payload }) => notifications.push(payload));
  await db.query('listen annals_moved');
  const writers: ProjectionWriter[] = [];
  for (const projection of [ideas, { ...ideas, name: 'still', categories: ['nothing'] }]) {
    await createSchema(db, projection.name, projection);
    writers.push(
      openProjectionWriter(
        projection.name,
        projection,
        { position: null, blockedStreams: [] },
        { rowBudget: openRowBudget(), erased: { has: () => false, isEmpty: () => true } },
      ),
    );
  }
  const checkpoints = () => Promise.all(writers.map(({ name }) => checkpointOf(databaseUrl, name)));
  const [first, second] = recordedEvents([noted('a'), noted('b')]).map((event) => ({ events: [event], to: event.position }));
  await writeBatch(writers, db as never, first!);
  assert.equal(notifications.splice(0), [`${tokenOf(first!.to)} ideas still`]);
  assert.equal(await checkpoints(), [first!.to.commit, -1n]);
  await writeCheckpoints(writers, db as never);
  assert.equal(await checkpoints(), [first!.to.commit, first!.to.commit]);
  await writeBatch(writers, db as never, second!);
  await query(databaseUrl, `update annals.checkpoints set commit_position = 1 where name = 'still'`);
  const failed = await writeCheckpoints(writers, db as never).then(
    () => null,
    (error: Error) => error,
  );
  assert.ok(isCheckpointConflict(failed), 'another writer moved the checkpoint');
});

test('if a projection has no changed rows, its checkpoint is written within two seconds, and before the worker ends', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const still = { ...ideas, name: 'still', categories: ['nothing'] };
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas, still]);
  for (const event of recordedEvents(Array.from({ length: 30 }, (_, index) => noted(`i${index}`)))) {
    await appendEvents(log, [event]);
    await waitForProjection(reads, log, 'ideas');
  }
  const end = log.events.at(-1)!.position.commit;
  await waitUntil(
    'the checkpoint follows',
    () => checkpointOf(databaseUrl, 'still'),
    (at) => at === end,
    2,
  );
  await appendEvents(log, recordedEvents([noted('last')]));
  await waitForProjection(reads, log, 'ideas');
  await close();
  assert.is(await checkpointOf(databaseUrl, 'still'), await checkpointOf(databaseUrl, 'ideas'));
});

const at = (commit: number): Position => ({ commit: BigInt(commit), prepare: BigInt(commit) });

test('writing an older checkpoint does not lower a position that was announced; only setting back the checkpoint itself does', async () => {
  const databaseUrl = await freshDatabase();
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  await createSystemTables(db);
  const moveCheckpoint = (commit: number) =>
    db.query('update annals.checkpoints set commit_position = $1, prepare_position = $1', [commit]);
  await db.query(`insert into annals.checkpoints (name, version, shape) values ('one', 1, '')`);
  await moveCheckpoint(10);
  const positions = await watchCheckpoints(databaseUrl, silentLogger);
  afterTest(() => Promise.all([positions.close(), db.end()]).then(() => {}));
  assert.is(positions.position('one'), tokenOf(at(10)));
  await db.query(`select pg_notify('annals_moved', '30:30 one')`);
  await positions.passed('one', tokenOf(at(30)), 1_000);
  await moveCheckpoint(20);
  // The watcher reads the checkpoints once per second. Check for 2.5 s, in which it reads them at least twice, that the
  // position does not change.
  for (let look = 0; look < 25; look++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(positions.position('one'), tokenOf(at(30)));
  }
  await moveCheckpoint(15);
  await waitUntil(
    'the database was restored',
    () => positions.position('one'),
    (position) => position === tokenOf(at(15)),
    5,
  );
});

const storedRow = (text: string): StoredRow => ({ row: {}, revision: 0, touched: '', docs: [text] });

test('the row cache keeps the most recently used rows', () => {
  const keys = fc.integer({ min: 0, max: 12 });
  const step = fc.record({ key: keys, set: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 100 }), (steps) => {
      // The cache has room for five rows. Each row counts as 300 characters: 256 for overhead and 44 for its text.
      const cache = openRowCache(openRowBudget(1_500, 0), false);
      let known: { key: number; text: string }[] = [];
      for (const [index, { key, set }] of steps.entries()) {
        const text = String(index).padEnd(44);
        const before = known.find((one) => one.key === key);
        if (!set) assert.is(cache.get('t', String(key))?.docs[0], before?.text);
        else cache.set('t', String(key), storedRow(text));
        if (set || before) known = [...known.filter((one) => one.key !== key), { key, text: set ? text : before!.text }].slice(-5);
      }
    }),
    { numRuns: 300 },
  );
});

test('a row cache on empty tables returns null for an unknown row; after its first eviction, it returns undefined', () => {
  const cache = openRowCache(openRowBudget(1_500, 0), true);
  assert.is(cache.get('t', 'never'), null);
  for (let key = 0; key < 12; key++) cache.set('t', String(key), storedRow('x'.repeat(44)));
  assert.is(cache.get('t', '0'), undefined);
  assert.is(cache.get('t', 'never'), undefined);
});

test.run();
