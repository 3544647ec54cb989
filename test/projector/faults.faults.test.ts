import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { ideaPage } from '../fixtures/idea-lists.ts';
import {
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
import { scenario } from '../fixtures/projection-scenario.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { appendEvents, type EventSpec, ideas, ideasOf, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const from = { projection: 'ideas', table: ideasTable };
const key = (id: string) => ({ tenant_id: 't', id });
const noted = (id: string, more: object = {}): EventSpec => [id, 'IdeaNoted', { title: `title ${id}`, ...more }];

const cutConnections = (databaseUrl: string) =>
  query(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );

test('while the database is down, reads fail as unavailable; when it is back, reads and projections work again without a restart', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { url, ...proxy } = await startTcpProxy(databaseUrl);
  proxy.close();
  await appendEvents(log, recordedEvents([noted('a')]));
  const { reads, close } = await startProjectionPlatform(log, url, [ideas]);
  const refused = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: Refusal) => [error.code, (error.extra?.retryAfter ?? 0) > 0],
    );
  assert.not(reads.healthy());
  assert.equal(await refused(reads.one(from, key('a'))), ['unavailable', true]);
  proxy.open();
  await waitForProjection(reads, log, 'ideas');
  for (let round = 0; round < 3; round++) {
    proxy.close();
    assert.equal(await refused(reads.one(from, key('a'))), ['unavailable', true]);
    await appendEvents(
      log,
      recordedEvents([
        noted('a'),
        ['a', 'IdeaLinked', { to: 'a' }],
        ['a', 'IdeaLinked', { to: 'a' }],
        ['a', 'IdeaLinked', { to: 'a' }],
      ]).slice(round + 1, round + 2),
    );
    await waitUntil('it is noticed', reads.healthy, (healthy) => !healthy);
    proxy.open();
    await waitForProjection(reads, log, 'ideas');
    assert.is(await reads.counter(from, key('a'), 'links'), round + 1);
    assert.ok(reads.healthy());
  }
  await close();
  proxy.end();
});

test('if the database does not answer, every read fails as unavailable within seconds, including reads that wait for a connection', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { url, ...proxy } = await startTcpProxy(databaseUrl);
  await startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
  const reads = await createReads(url, silentLogger);
  afterTest(reads.close);
  await appendEvents(log, recordedEvents(['a', 'b', 'c'].map((id) => noted(id))));
  await waitForProjection(reads, log, 'ideas');
  const titleOf = async (id: string) => (JSON.parse((await reads.one(from, key(id)))!.doc) as { title: string }).title;
  const titlesFrom = async (id: string) => {
    const { body } = await ideaPage(reads, { filter: { id_from: id }, sort: { column: 'id', descending: false }, limit: 9 });
    return (JSON.parse(body) as { title: string }[]).map(({ title }) => title);
  };
  assert.is((await Promise.all([titleOf('a'), titlesFrom('b'), titlesFrom('c')])).length, 3);
  proxy.stall();
  const outcomes: unknown[] = [];
  const ask = (work: Promise<unknown>) =>
    work.then(
      (answer) => outcomes.push(answer),
      (error: Refusal) => outcomes.push([error.code, (error.extra?.retryAfter ?? 0) > 0]),
    );
  const started = Date.now();
  const asked = [...Array.from({ length: 12 }, (_, n) => ask(titlesFrom(`b${n}`))), ask(titleOf('a')), ask(titleOf('b'))];
  await sleep(500);
  asked.push(ask(titleOf('c')), ask(reads.counter(from, key('a'), 'links')), ask(titlesFrom('c')));
  await waitUntil(
    'every read is answered',
    () => outcomes.length,
    (length) => length === asked.length,
    9,
  );
  assert.ok(Date.now() - started < 7_000, `${Date.now() - started} ms`);
  assert.equal(
    outcomes,
    asked.map(() => ['unavailable', true]),
  );
  proxy.resume();
  await waitUntil(
    'reads are answered again',
    () => titleOf('a').catch(() => null),
    (title) => title === 'title a',
  );
  const again = await Promise.all([titlesFrom('b'), titleOf('c'), titlesFrom('c'), titleOf('b')]);
  assert.equal(again, [['title b', 'title c'], 'title c', ['title c'], 'title b']);
  proxy.end();
});

test('while the log is down, rows can be read; after the log is available again, the rows are updated', async () => {
  const log = memoryLog();
  const { reads, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  const events = recordedEvents([noted('a'), ['a', 'IdeaLinked', { to: 'a' }]]);
  await appendEvents(log, events.slice(0, 1));
  await waitForProjection(reads, log, 'ideas');
  const endOutage = log.outage();
  assert.is((await reads.one(from, key('a')))?.revision, 0);
  endOutage();
  await appendEvents(log, events.slice(1));
  await waitForProjection(reads, log, 'ideas');
  assert.is((await reads.one(from, key('a')))?.revision, 1);
  await close();
});

test('if a schema of another application has the name of a projection, this is reported and the schema is not changed; the other projections continue', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  await query(databaseUrl, 'create schema ideas');
  await query(databaseUrl, 'create table ideas.theirs as select 1 as one');
  const worker = await startWorker({
    log,
    databaseUrl,
    projections: [{ ...ideas, name: 'before' }, ideas, { ...ideas, name: 'behind' }],
    logger: silentLogger,
  });
  const of = (name: string) => worker.status().find((one) => one.name === name)!;
  await waitUntil(
    'its name',
    () => of('ideas').last_error,
    (error) => /another application owns the schema ideas in this database/.test(error ?? ''),
  );
  for (const name of ['before', 'behind'])
    await waitUntil(
      name,
      () => of(name).state,
      (state) => state === 'live',
    );
  assert.match(of('ideas').last_error ?? '', /another application owns the schema/);
  assert.equal(await query(databaseUrl, 'select one from ideas.theirs'), [{ one: 1 }]);
  await worker.close();
});

const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('an event that cannot be applied blocks only later events of the same stream, and does not delay any other stream', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const unique: AnyProjection = {
    ...ideasOf('idea'),
    name: 'unique_ideas',
    tables: [{ ...ideasTable, indexes: [{ columns: ['title'], unique: true }] }, ...ideas.tables.slice(1)],
  };
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas, unique]);
  const kinds: Record<string, EventSpec[]> = {
    nul: [noted('nul', { title: 'a\0b', extra: { 'k\0': '\0' } })],
    surrogate: [noted('surrogate', { title: '\ud800', extra: ['\udc00'] })],
    long: [noted('long', { title: 'x'.repeat(900_000) })],
    key: [noted('key'), ['key', 'IdeaTagged', { tag: 'x'.repeat(5_000) }]],
    deep: [noted('deep', { extra: deep(10_000) })],
    type: [noted('type', { title: 7 })],
    field: [noted('field', { nobody: 'knows' })],
    enum: [noted('enum', { mood: 'grim' })],
    early: [['early', 'IdeaRenamed', { title: 'before it was' }]],
    taken: [
      ['taken', 'IdeaTagged', { tag: 'one' }],
      ['taker', 'IdeaTagged', { tag: 'one' }],
    ],
    version: [noted('version')],
    twin: [noted('twin', { title: 'same' }), noted('other twin', { title: 'same' })],
  };
  for (const [kind, given] of Object.entries(kinds)) {
    await appendEvents(log, recordedEvents(given, kind === 'version' ? { v: 99 } : {}));
    await appendEvents(log, recordedEvents([noted(`after ${kind}`)]));
    const started = Date.now();
    await Promise.all([waitForProjection(reads, log, 'ideas'), waitForProjection(reads, log, 'unique_ideas')]);
    assert.ok(Date.now() - started < 2_000, kind);
    assert.ok(await reads.one(from, key(`after ${kind}`)), kind);
  }
  const parked = await query<{ projection: string; stream: string; reason: string }>(
    databaseUrl,
    'select projection, stream, reason from annals.parked where first order by 1, 2',
  );
  const of = (projection: string) =>
    parked.filter((one) => one.projection === projection).map(({ stream }) => stream.replace('idea-t.', ''));
  assert.equal(of('ideas'), ['deep', 'early', 'enum', 'field', 'key', 'taker', 'type', 'version']);
  assert.equal(of('unique_ideas'), ['deep', 'early', 'enum', 'field', 'key', 'long', 'other twin', 'taker', 'type', 'version']);
  assert.match(parked.find(({ stream }) => stream === 'idea-t.other twin')!.reason, /the database refuses it: duplicate key/);
  assert.is(JSON.parse((await reads.one(from, key('nul')))!.doc).title, 'a\\u0000b');
  await close();
});

test('the position of a projection advances with the log even if the projection handles none of its events', async () => {
  const log = memoryLog();
  const quietOne: AnyProjection = { ...ideasOf('never'), name: 'never' };
  const { reads, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas, quietOne]);
  for (const event of recordedEvents([noted('a'), ['a', 'IdeaViewed'], ['a', 'IdeaViewed']])) {
    await appendEvents(log, [event]);
    await reads.passed('never', tokenOf(log.events.at(-1)!.position));
  }
  await close();
});

test('the rows equal those that the log yields, wherever batches end and connections break', () =>
  fc.assert(
    fc.asyncProperty(scenario, fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }), async (given, sizes) => {
      const log = memoryLog();
      const databaseUrl = await freshDatabase();
      const events = recordedEvents(given);
      const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
      for (const size of [...sizes, events.length]) {
        await appendEvents(log, events.slice(log.events.length, log.events.length + size));
        await cutConnections(databaseUrl);
      }
      if (events.length > 0) await waitForProjection(reads, log, 'ideas');
      if (events.length > 0)
        for (const table of ['ideas', 'tags'])
          assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', table)), comparableRows(await foldedRows(log, ideas, table)));
      await close();
    }),
    { numRuns: Number(process.env.TEST_RUNS ?? 6) },
  ));

test.run();
