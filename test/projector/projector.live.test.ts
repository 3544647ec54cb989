import { createHash } from 'node:crypto';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { PAGE_BYTES, type Reads } from '../../projections/read-model.ts';
import { expectedIdeaPages, type IdeaFilter, ideaPages } from '../fixtures/idea-lists.ts';
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
import { appendEvents, type EventSpec, ideas, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const from = { projection: 'ideas', table: ideasTable };
const key = (id: string) => ({ tenant_id: 't', id });

const read = async (reads: Reads, id: string) => JSON.parse((await reads.one(from, key(id)))!.doc) as Record<string, unknown>;

test('rows in Postgres equal those of the in-memory store, for every kind of change and for unusual characters', async () => {
  const log = memoryLog();
  const { reads, databaseUrl, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  const unusualText = '€"\\{},NULL \u2028 \0 \ud800 😀';
  const given: EventSpec[] = [
    ['a', 'IdeaNoted', { title: unusualText, extra: { b: [1, null, { '': unusualText }], aa: 1e21 }, score: 0.1 }],
    ['b', 'IdeaNoted', { title: '', extra: [] }],
    ['b', 'IdeaLinked', { to: 'a' }],
    ['a', 'IdeaViewed'],
    ['c', 'IdeaTagged', { tag: 'x\0y' }],
    ['d', 'IdeaNoted', { title: 'gone' }],
    ['d', 'IdeaDropped'],
  ];
  await appendEvents(log, recordedEvents(given));
  await waitForProjection(reads, log, 'ideas');
  for (const table of ['ideas', 'tags'])
    assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', table)), comparableRows(await foldedRows(log, ideas, table)));
  assert.is((await read(reads, 'a')).links, 1);
  assert.is((await reads.one(from, key('a')))?.revision, 1);
  assert.is(await reads.one(from, key('d')), null);
  assert.is(await reads.one(from, { tenant_id: 'other', id: 'a' }), null);
  assert.is(await reads.one(from, { tenant_id: '\0', id: 'a' }), null);
  assert.is(await reads.counter(from, key('a'), 'links'), 1);
  assert.is(await reads.counter(from, key('nobody'), 'links'), 0);
  await close();
});

/**
 * Wraps a log so that its first subscription from the beginning is faulty. That subscription delivers nothing until
 * `go` is called. After that, it delivers only the first `few` events, but reports that it has caught up.
 */
const truncatedLog = (log: Log, few: number) => {
  const { promise: gate, resolve: go } = Promise.withResolvers<void>();
  let isFirst = true;
  const follow: Log['follow'] = (follower) => {
    if (!isFirst || follower.from !== undefined) return log.follow(follower);
    isFirst = false;
    let delivered = 0;
    const event = async (one: Recorded): Promise<void> => {
      await gate;
      if (delivered++ < few) await follower.event(one);
    };
    return log.follow({ ...follower, event, checkpoint: () => {} });
  };
  return { log: { ...log, follow }, go };
};

test('a projection that is added later applies every earlier event, even if its catch-up subscription misses some events', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  await appendEvents(
    log,
    recordedEvents(Array.from({ length: 12 }, (_, index): EventSpec => [`i${index}`, 'IdeaNoted', { title: `${index}` }])),
  );
  await waitForProjection(reads, log, 'ideas');
  await close();
  const late = { ...ideas, name: 'late' };
  const short = truncatedLog(log, 3);
  const worker = await startWorker({ log: short.log, databaseUrl, projections: [ideas, late], logger: silentLogger });
  const stateOf = (name: string) => worker.status().find((one) => one.name === name)!.state;
  await waitUntil(
    'the live projection',
    () => stateOf('ideas'),
    (state) => state === 'live',
  );
  short.go();
  await waitUntil(
    'the joining projection',
    () => stateOf('late'),
    (state) => state === 'live',
  );
  assert.equal(comparableRows(await rowsIn(databaseUrl, 'late', 'ideas')), comparableRows(await foldedRows(log, late, 'ideas')));
  await worker.close();
});

test('after a restart, a projection continues at its checkpoint, and the stored rows are kept', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const events = recordedEvents([
    ['a', 'IdeaNoted', { title: 'one', extra: { z: 1, yy: 2 } }],
    ['b', 'IdeaRenamed', { title: 'too early' }],
    ['a', 'IdeaRenamed', { title: 'two' }],
    ['a', 'IdeaLinked', { to: 'a' }],
    ['b', 'IdeaNoted', { title: 'behind' }],
  ]);
  for (const [part, size] of [2, 1, 2].entries()) {
    const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
    await appendEvents(log, events.slice(log.events.length, log.events.length + size));
    await waitForProjection(reads, log, 'ideas');
    assert.is((await read(reads, 'a')).title, part === 0 ? 'one' : 'two');
    assert.is(await reads.one(from, key('b')), null);
    await close();
  }
  assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', 'ideas')), comparableRows(await foldedRows(log, ideas, 'ideas')));
});

test('a read with the consistency token of a write returns what was written, even if many reads wait at the same time', async () => {
  const log = memoryLog();
  const { reads, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  const events = recordedEvents(
    Array.from({ length: 60 }, (_, n): EventSpec => [`i${n % 20}`, n < 20 ? 'IdeaNoted' : 'IdeaRenamed', { title: `title ${n}` }]),
  );
  await appendEvents(log, events.slice(0, 20));
  for (const event of events.slice(20)) {
    await appendEvents(log, [event]);
    const { position } = log.events.at(-1)!;
    const seen = Array.from({ length: 5 }, async () => {
      await reads.passed('ideas', `${position.commit}:${position.prepare}`);
      return (await read(reads, event.id)).title;
    });
    assert.equal(new Set(await Promise.all(seen)), new Set([(event.data as { title: string }).title]));
  }
  await close();
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const texts = fc.constantFrom('a', 'B', '%', '_', '\\', "'", '"', '\0', '\ud800', '😀', 'ü', '');
const filter: fc.Arbitrary<IdeaFilter> = fc.record(
  {
    title: texts,
    id_from: fc.constantFrom('i1', 'i5', '\0'),
    before: fc.constantFrom('2026-01-01T00:00:00.005Z', '2026-01-01T02:00:00.01+02:00'),
    score: fc.constantFrom(null, 0, 1, 2.5),
    score_from: fc.constantFrom(0, 1, 2.5),
    ids: fc.array(fc.constantFrom('i1', 'i2', 'i3', '\0')),
    text: texts,
    tag_from: texts,
  },
  { requiredKeys: [] },
);
const ideaQuery = fc.record({
  doc: fc.constantFrom('doc' as const, 'short_doc' as const),
  filter,
  sort: fc.record({ column: fc.constantFrom('created_at', 'title', 'score', 'links', 'id'), descending: fc.boolean() }),
  limit: fc.integer({ min: 1, max: 5 }),
});

test('lists in Postgres have the rows, order and pages that the requested filters, sort column and limit demand', async () => {
  const log = memoryLog();
  const { reads, close } = await startProjectionPlatform(log, await freshDatabase(), [ideas]);
  const titles = ['a', 'A', 'b%', 'B_', 'ü', '😀', '\uffff', 'a\0', "quo'te\\", ''];
  const given = titles.flatMap((title, n): EventSpec[] => [
    [`i${n}`, 'IdeaNoted', { title, ...(n % 3 === 0 ? {} : { score: (n % 4) / 2 }), ...(n === 9 ? { gone: true } : {}) }],
    [`i${n}`, 'IdeaTagged', { tag: `${title}#` }],
    [`i${n}`, 'IdeaLinked', { to: `i${n % 4}` }],
  ]);
  await appendEvents(log, recordedEvents(given));
  await waitForProjection(reads, log, 'ideas');
  const store = openMemoryStore([ideas]);
  store.feed(log.events);
  await fc.assert(
    fc.asyncProperty(ideaQuery, async (query) => {
      assert.equal(await ideaPages(reads, query), expectedIdeaPages(store, query));
    }),
    { numRuns: 300 },
  );
  await close();
});

test('a page contains at most about 8 MiB, but at least one document; together, the pages contain every row', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  const sizes = Array.from({ length: 40 }, (_, n) => (n % 4 === 3 ? 0 : 10_000 + n * 22_000));
  const given = sizes.map((size, n): EventSpec => [`i${n}`, 'IdeaNoted', { title: `${n} ${'€'.repeat(size / 3)}` }]);
  await appendEvents(log, recordedEvents(given));
  await waitForProjection(reads, log, 'ideas');
  const store = openMemoryStore([ideas]);
  store.feed(log.events);
  const all = given.map(([id]) => id).sort();
  const idsOf = (page: string) => (JSON.parse(page) as { id: string }[]).map(({ id }) => id);
  const checkPages = (pages: readonly string[]) => {
    assert.equal(pages.flatMap(idsOf).sort(), all);
    for (const page of pages)
      assert.ok(idsOf(page).length === 1 || Buffer.byteLength(page) < PAGE_BYTES + 1_000, `${Buffer.byteLength(page)} bytes`);
  };
  for (const descending of [true, false])
    for (const limit of [7, 13, 200]) {
      const query = { sort: { column: 'created_at', descending }, limit };
      const pages = await ideaPages(reads, query);
      assert.equal(pages.map(digest), expectedIdeaPages(store, query).map(digest));
      assert.ok(limit < 200 || pages.length > 1);
      checkPages(pages);
    }
  await query(
    databaseUrl,
    `update ideas.ideas set doc = jsonb_build_object('id', id, 'title', repeat('x', 9 << 20)) where id in ('i0', 'i20')`,
  );
  const withLarge = await ideaPages(reads, { sort: { column: 'created_at', descending: false }, limit: 200 });
  checkPages(withLarge);
  assert.equal(idsOf(withLarge[0]!), ['i0']);
  await close();
});

test.run();
