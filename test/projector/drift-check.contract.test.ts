import * as assert from 'uvu/assert';
import { openPool } from '../../infra/postgres/pool.ts';
import { checkAllDrift, checkDrift, type DriftReport } from '../../infra/projector/drift-check.ts';
import { asOf } from '../../projections/engine/as-of.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { appendEvents, type EventSpec, ideas, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const story: EventSpec[] = [
  ['a', 'IdeaNoted', { title: 'one' }],
  ['b', 'IdeaNoted', { title: 'other' }],
  ['a', 'IdeaRenamed', { title: 'two' }],
  ['b', 'IdeaLinked', { to: 'a' }],
  ['a', 'IdeaRenamed', { title: 'three' }],
  ['a', 'IdeaTagged', { tag: 'x' }],
  ['b', 'IdeaRenamed', { title: 7 }],
];

test('an as-of read returns a resource as it was after the last event of its stream up to the requested position', () => {
  const all = recordedEvents(story);
  const own = all.filter(({ id }) => id === 'a');
  const titles = all.map(({ position }) => asOf(ideas, 'ideas', own, position).get('t\0a')?.row.title);
  assert.equal(titles, ['one', 'one', 'two', 'two', 'three', 'three', 'three']);
  assert.is(asOf(ideas, 'ideas', own, own[1]!.position).get('t\0a')?.revision, 1);
  assert.is(asOf(ideas, 'ideas', own, { commit: 0n, prepare: 0n }).size, 0);
});

test('the drift check reports each row that differs from the log, and no other row; it names the first event that the row does not reflect', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await appendEvents(log, recordedEvents(story));
  await waitForProjection(reads, log, 'ideas');
  const pool = openPool(databaseUrl, silentLogger, 'test');
  const sampled = () => checkDrift(log, pool, ideas, 10);
  const all = async () => (await checkAllDrift(log, pool, [ideas]))[0]!;
  for (const check of [all, sampled]) {
    const clean = await check();
    assert.equal([clean.checked, clean.drifted], [3, []]);
  }
  const stale = asOf(ideas, 'ideas', log.events, log.events[3]!.position).get('t\0a')!;
  await query(databaseUrl, `update ideas.ideas set title = $1, doc = $2, short_doc = $3, revision = 1 where id = 'a'`, [
    'two',
    ...stale.docs,
  ]);
  await query(databaseUrl, `update ideas.tags set idea_id = 'nobody'`);
  for (const check of [all, sampled]) {
    const { drifted } = await check();
    assert.equal(
      drifted.map(({ table, key, columns, event }) => [table, Object.values(key).at(-1), columns, event && [event.stream, event.revision]]),
      [
        ['ideas', 'a', ['title', 'doc', 'short_doc', 'revision'], ['idea-t.a', 2]],
        ['tags', 'x', ['idea_id'], ['idea-t.a', 3]],
      ],
    );
  }
  await pool.end();
  await close();
});

test('several projections are checked in one pass over the log, with progress; only one that differs is read again', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await appendEvents(
    log,
    recordedEvents(Array.from({ length: 2_500 }, (_, index): EventSpec => [`i${index}`, 'IdeaNoted', { title: 'one' }])),
  );
  await waitForProjection(reads, log, 'ideas');
  const pool = openPool(databaseUrl, silentLogger, 'test');
  let passes = 0;
  const counted: typeof log = {
    ...log,
    readAll: (...args) => {
      passes++;
      return log.readAll(...args);
    },
  };
  const shares: number[] = [];
  const check = () => checkAllDrift(counted, pool, [ideas, ideas], { onProgress: ({ share }) => shares.push(share) });
  assert.equal(
    (await check()).map(({ checked, drifted }) => [checked, drifted.length]),
    [
      [2_500, 0],
      [2_500, 0],
    ],
  );
  assert.is(passes, 1);
  assert.equal([shares.length, shares[0]! < shares[1]!, shares[1]! <= 1], [2, true, true]);
  await query(databaseUrl, `update ideas.ideas set title = 'wrong' where id = 'i7'`);
  passes = 0;
  assert.equal(
    (await check()).map(({ drifted }) => drifted.map(({ event }) => event?.stream)),
    [['idea-t.i7'], ['idea-t.i7']],
  );
  assert.is(passes, 3);
  await pool.end();
  await close();
});

test('all rows of a table are checked, however many there are, with a limited number in memory', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  const ids = Array.from({ length: 25 }, (_, index) => `i${String(index).padStart(2, '0')}`);
  await appendEvents(log, recordedEvents(ids.map((id): EventSpec => [id, 'IdeaNoted', { title: 'one' }])));
  await waitForProjection(reads, log, 'ideas');
  await query(databaseUrl, `update ideas.ideas set title = 'wrong' where id in ('i04', 'i10', 'i24')`);
  const pool = openPool(databaseUrl, silentLogger, 'test');
  for (const rowsPerTable of [1, 4, 5, 24, 25, 26]) {
    const [report] = await checkAllDrift(log, pool, [ideas], { rowsPerTable, rowsPerPass: 7 });
    assert.is(report!.checked, 25, String(rowsPerTable));
    assert.equal(report!.drifted.map(({ key }) => key.id).sort(), ['i04', 'i10', 'i24']);
  }
  await pool.end();
  await close();
});

test('the drift check finds an event that was not applied, even if later events were applied', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  const events = recordedEvents([
    ['a', 'IdeaNoted', { title: 'one', mood: 'glad' }],
    ['a', 'IdeaRenamed', { title: 'two' }],
    ['a', 'IdeaRenamed', { extra: 5 }],
    ['a', 'IdeaViewed'],
    ['b', 'IdeaNoted', { title: 'b' }],
    ['b', 'IdeaViewed'],
  ]);
  await appendEvents(log, events);
  await waitForProjection(reads, log, 'ideas');
  const rows = asOf(ideas, 'ideas', [events[0]!, events[2]!, events[3]!], events[5]!.position);
  const { docs } = rows.get('t\0a')!;
  await query(databaseUrl, `update ideas.ideas set title = 'one', doc = $1, short_doc = $2 where id = 'a'`, [...docs]);
  await query(databaseUrl, `update ideas.ideas set revision = 0 where id = 'b'`);
  const pool = openPool(databaseUrl, silentLogger, 'test');
  const [{ drifted }] = (await checkAllDrift(log, pool, [ideas])) as [DriftReport];
  assert.equal(
    drifted.map(({ key, event }) => [Object.values(key).at(-1), event?.stream, event?.revision]),
    [
      ['a', 'idea-t.a', 1],
      ['b', 'idea-t.b', 1],
    ],
  );
  await pool.end();
  await close();
});

test('the drift check skips a projection if the stored rows were written by another version of it', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await appendEvents(log, recordedEvents(story));
  await waitForProjection(reads, log, 'ideas');
  await close();
  const pool = openPool(databaseUrl, silentLogger, 'test');
  const [table] = ideas.tables;
  const next = { ...ideas, version: ideas.version + 1, tables: [{ ...table!, name: 'thoughts' }] };
  assert.equal(await checkAllDrift(log, pool, [next]), [{ projection: 'ideas', position: null, checked: 0, drifted: [] }]);
  await pool.end();
});

test.run();
