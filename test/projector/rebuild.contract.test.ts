import pg from 'pg';
import * as assert from 'uvu/assert';
import { type RequestKind, requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { parkedEvents } from '../../infra/projector/parked-events.ts';
import { publishedStatuses } from '../../infra/projector/status.ts';
import { patch } from '../../projections/projection.ts';
import type { Reads, Source } from '../../projections/read-model.ts';
import { ideaPage } from '../fixtures/idea-lists.ts';
import {
  checkpointOf,
  comparableRows,
  foldedRows,
  query,
  rowsIn,
  silentLogger,
  startProjectionPlatform,
  startWorker,
  waitForProjection,
  waitUntil,
} from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { appendEvents, type EventSpec, ideas, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const from: Source = { projection: 'ideas', table: ideasTable };
const key = (id: string) => ({ tenant_id: 't', id });
const notedEvents = (count: number): EventSpec[] =>
  Array.from({ length: count }, (_, n): EventSpec => [`i${n}`, 'IdeaNoted', { title: `title ${n}` }]);
const titleOf = async (reads: Reads, id: string) => JSON.parse((await reads.one(from, key(id)))!.doc).title as string;

const requestAndWait = async (databaseUrl: string, kind: RequestKind, stream: string | null = null) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const id = await requestMaintenance(pool, kind, 'ideas', stream);
    return (await waitUntil(
      kind,
      () => requestState(pool, id),
      (state) => state?.done_at !== null,
    ))!.outcome as Record<string, unknown>;
  } finally {
    await pool.end();
  }
};

test('a rebuild finds and repairs changed and deleted rows; meanwhile, no read fails or misses an existing row', async () => {
  const log = memoryLog();
  const { reads, databaseUrl, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  await appendEvents(log, recordedEvents(notedEvents(300)));
  await waitForProjection(reads, log, 'ideas');
  await query(databaseUrl, `update ideas.ideas set title = 'changed' where id = 'i7'`);
  await query(databaseUrl, `delete from ideas.ideas where id = 'i8'`);
  let hasEnded = false;
  const seen = { reads: 0, minRows: Number.POSITIVE_INFINITY, lookups: 0 };
  const reading = (async () => {
    while (!hasEnded) {
      const [page, point] = await Promise.all([
        ideaPage(reads, { filter: { tenant_id: 't' }, sort: { column: 'created_at', descending: true }, limit: 400 }),
        reads.one(from, key('i9')),
      ]);
      seen.reads++;
      if (point) seen.lookups++;
      seen.minRows = Math.min(seen.minRows, (JSON.parse(page.body) as unknown[]).length);
    }
  })();
  for (let round = 0; round < 3; round++) {
    const outcome = await requestAndWait(databaseUrl, 'rebuild');
    assert.is(outcome.promoted, true);
    const { differing, shown } = outcome.comparison as {
      differing: number;
      shown: { only: string | null; columns: string[]; touched: string; key: { id: string } }[];
    };
    assert.is(differing, round === 0 ? 2 : 0);
    if (round > 0) continue;
    const byId = new Map(shown.map((one) => [one.key.id, one]));
    assert.equal([byId.get('i7')?.columns, byId.get('i7')?.touched, byId.get('i8')?.only], [['title'], 'idea-t.i7@0', 'new']);
  }
  hasEnded = true;
  await reading;
  assert.ok(seen.reads > 5 && seen.lookups === seen.reads, JSON.stringify(seen));
  assert.is(seen.minRows, 299);
  await appendEvents(log, recordedEvents([['late', 'IdeaNoted', { title: 'after all that' }]]));
  await waitForProjection(reads, log, 'ideas');
  assert.is(await titleOf(reads, 'late'), 'after all that');
  assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', 'ideas')), comparableRows(await foldedRows(log, ideas, 'ideas')));
  await close();
});

test('for each column that differs, the comparison of a rebuild shows example rows, even if most differing rows differ only in another column', async () => {
  const log = memoryLog();
  const { reads, databaseUrl } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  await appendEvents(log, recordedEvents(notedEvents(100)));
  await waitForProjection(reads, log, 'ideas');
  await query(databaseUrl, `update ideas.ideas set title = 'changed'`);
  await query(databaseUrl, `update ideas.ideas set revision = 9 where id = 'i77'`);
  const { comparison } = await requestAndWait(databaseUrl, 'rebuild');
  const { differing, shown } = comparison as { differing: number; shown: { columns: string[]; key: { id: string } }[] };
  const columns = new Map(shown.slice(0, 2).map((row) => [row.key.id, row.columns]));
  assert.equal([differing, shown.length, columns.get('i77')], [100, 21, ['title', 'revision']]);
});

test('rebuild-if-equal keeps the old rows if the new ones differ; aborting a rebuild removes its shadow schema and its checkpoint, and keeps the live rows', async () => {
  const log = memoryLog();
  const { reads, databaseUrl, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  await appendEvents(log, recordedEvents(notedEvents(5)));
  await waitForProjection(reads, log, 'ideas');
  await query(databaseUrl, `update ideas.ideas set title = 'kept' where id = 'i1'`);
  const outcome = await requestAndWait(databaseUrl, 'rebuild-if-equal');
  assert.is(outcome.promoted, false);
  await requestAndWait(databaseUrl, 'abort');
  assert.is(await checkpointOf(databaseUrl, 'ideas__next'), -1n);
  assert.equal(await query(databaseUrl, `select from pg_namespace where nspname like 'ideas__%'`), []);
  assert.is((await rowsIn(databaseUrl, 'ideas', 'ideas')).filter(({ title }) => title === 'kept').length, 1);
  await close();
});

test('a new version of a projection is built beside the old one, which reads use until the promotion', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  await appendEvents(log, recordedEvents(notedEvents(50)));
  const first = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await waitForProjection(first.reads, log, 'ideas');
  await first.close();
  const louder = {
    ...ideas,
    version: 2,
    on: {
      ...ideas.on,
      IdeaViewed: ({ tenant, id }: { tenant: string; id: string }) => patch('ideas', { tenant_id: tenant, id }, { title: 'seen' }),
    },
  };
  await appendEvents(
    log,
    recordedEvents([
      ['i3', 'IdeaNoted', {}],
      ['i3', 'IdeaViewed'],
    ]).slice(1),
  );
  const second = await startProjectionPlatform(log, databaseUrl, [louder]);
  await waitUntil(
    'promotion',
    () => titleOf(second.reads, 'i3'),
    (title) => title === 'seen',
  );
  await second.close();
  const wider = {
    ...louder,
    version: 3,
    tables: [{ ...ideasTable, columns: { ...ideasTable.columns, mood: 'text' as const } }, ...ideas.tables.slice(1)],
  };
  const third = await startProjectionPlatform(log, databaseUrl, [wider]);
  assert.is(await titleOf(third.reads, 'i3'), 'seen');
  await waitUntil(
    'promotion',
    () => rowsIn(databaseUrl, 'ideas', 'ideas'),
    (rows) => 'mood' in rows[0]! && rows.length === 50,
  );
  await third.close();
  const older = await startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
  await waitUntil('the error in the status', older.status, ([status]) => /version 3/.test(status!.last_error ?? ''));
  assert.is(await titleOf(third.reads, 'i3').catch(() => 'closed'), 'closed');
  await older.close();
});

test('a parked event is listed with the later events of its stream; after the projection is corrected, a retry applies all of them', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const events = recordedEvents([
    ['a', 'IdeaNoted', { title: 'one' }],
    ['a', 'IdeaRenamed', { title: 7 }],
    ['a', 'IdeaRenamed', { title: 'three' }],
    ['b', 'IdeaNoted', { title: 'other' }],
  ]);
  await appendEvents(log, events);
  const first = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await waitForProjection(first.reads, log, 'ideas');
  assert.equal([await titleOf(first.reads, 'a'), await titleOf(first.reads, 'b')], ['one', 'other']);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const parked = await parkedEvents(pool, 'ideas');
  assert.equal(
    parked.map(({ stream, revision, first: cause }) => [stream, revision, cause]),
    [
      ['idea-t.a', 1, true],
      ['idea-t.a', 2, false],
    ],
  );
  assert.match(parked[0]!.reason, /title is not a string/);
  assert.equal(await requestAndWait(databaseUrl, 'retry', 'idea-t.a'), { freed: 0 });
  const tried = (await parkedEvents(pool, 'ideas')).map(({ attempts }, index) => attempts > parked[index]!.attempts);
  assert.equal(tried, [true, true]);
  const [status] = await waitUntil(
    'a status',
    () => publishedStatuses(pool),
    (found) => found[0]?.parked_streams === 1,
  );
  assert.is(status!.state, 'live');
  await first.close();
  const fixed = {
    ...ideas,
    on: {
      ...ideas.on,
      IdeaRenamed: ({ tenant, id, data }: { tenant: string; id: string; data: Record<string, unknown> }) =>
        patch('ideas', { tenant_id: tenant, id }, { title: String(data.title) }),
    },
  };
  const second = await startProjectionPlatform(log, databaseUrl, [fixed]);
  await waitUntil(
    'the retry',
    () => titleOf(second.reads, 'a'),
    (title) => title === 'three',
  );
  assert.equal(await parkedEvents(pool, 'ideas'), []);
  assert.is((await second.reads.one(from, key('a')))?.revision, 2);
  await pool.end();
  await second.close();
});

test('a restart completes an interrupted rebuild, and creates and fills schemas again that were dropped', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  await appendEvents(log, recordedEvents(notedEvents(2_000)));
  for (let round = 0; round < 6; round++) {
    const worker = await startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
    await waitUntil(
      'tables',
      () => query(databaseUrl, `select from pg_tables where schemaname = 'annals' and tablename = 'requests'`),
      ({ length }) => length === 1,
    );
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    await requestMaintenance(pool, 'rebuild', 'ideas');
    await new Promise((resolve) => setTimeout(resolve, 40 * round));
    await pool.end();
    await worker.close();
  }
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await waitForProjection(reads, log, 'ideas');
  await waitUntil(
    'the end of the rebuild',
    () => checkpointOf(databaseUrl, 'ideas__next'),
    (at) => at === -1n,
  );
  assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', 'ideas')), comparableRows(await foldedRows(log, ideas, 'ideas')));
  await close();
  await query(databaseUrl, 'drop schema annals cascade; drop schema ideas cascade');
  const again = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await waitForProjection(again.reads, log, 'ideas');
  assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', 'ideas')), comparableRows(await foldedRows(log, ideas, 'ideas')));
  await again.close();
});

test('a promotion replaces the rows and marks the request as completed in one transaction; if the transaction fails, both stay as they were', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  await appendEvents(log, recordedEvents(notedEvents(30)));
  const first = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await waitForProjection(first.reads, log, 'ideas');
  await query(databaseUrl, `update ideas.ideas set title = 'changed' where id = 'i7'`);
  await query(databaseUrl, `create function annals.die() returns trigger language plpgsql as 'begin raise exception ''dies here''; end'`);
  await query(
    databaseUrl,
    `create trigger dies before update on annals.requests for each row when (new.done_at is not null) execute function annals.die()`,
  );
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const id = await requestMaintenance(pool, 'rebuild', 'ideas');
  const [status] = await waitUntil(
    'the failed promotion',
    () => publishedStatuses(pool),
    (found) => /dies here/.test(found[0]?.last_error ?? ''),
  );
  assert.is(status!.name, 'ideas');
  assert.is((await rowsIn(databaseUrl, 'ideas', 'ideas')).find((row) => row.id === 'i7')!.title, 'changed', 'the old rows are still read');
  assert.is((await requestState(pool, id))!.done_at, null);
  await query(databaseUrl, 'drop trigger dies on annals.requests');
  await waitUntil(
    'the promotion',
    () => requestState(pool, id),
    (state) => state?.done_at !== null,
  );
  assert.is(await titleOf(first.reads, 'i7'), 'title 7');
  assert.is(await checkpointOf(databaseUrl, 'ideas__next'), -1n);
  await pool.end();
  await first.close();
});

test('a schema that is dropped while a worker runs is created and filled again', async () => {
  const log = memoryLog();
  const { reads, databaseUrl, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  await appendEvents(log, recordedEvents(notedEvents(10)));
  await waitForProjection(reads, log, 'ideas');
  await query(databaseUrl, 'drop schema ideas cascade');
  await appendEvents(log, recordedEvents([['late', 'IdeaNoted', { title: 'late' }]]));
  await waitUntil(
    'all rows',
    () => rowsIn(databaseUrl, 'ideas', 'ideas').catch(() => []),
    ({ length }) => length === 11,
  );
  await close();
});

test.run();
