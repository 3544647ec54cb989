import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type IdeaFilter, ideaPage, ideaPages } from '../fixtures/idea-lists.ts';
import { startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { appendEvents, type EventSpec, ideas, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const from = { projection: 'ideas', table: ideasTable };
const noted = (id: string, title: string, more: object = {}): EventSpec => [id, 'IdeaNoted', { title, ...more }];

const platformOf = async (...given: EventSpec[]) => {
  const platform = await startProjectionPlatform(memoryLog(), await freshDatabase(), [ideas]);
  await appendEvents(platform.log, recordedEvents(given));
  if (given.length > 0) await waitForProjection(platform.reads, platform.log, 'ideas');
  return platform;
};

const refusal = (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => {
      throw new Error('the call was not refused');
    },
    (error: unknown) => {
      assert.instance(error, Refusal);
      return error as Refusal;
    },
  );

const idsOf = (bodies: readonly string[]): string =>
  bodies
    .flatMap((body) => JSON.parse(body) as { id: string }[])
    .map(({ id }) => id)
    .join('');

test('looking up a row returns its document and the revision of its stream; soft-deleted rows and rows of other tenants are not found', async () => {
  const { reads } = await platformOf(noted('a', 'A'), noted('b', 'B'), ['b', 'IdeaRenamed', { gone: true }]);
  const one = await reads.one(from, { tenant_id: 't', id: 'a' });
  assert.equal([JSON.parse(one!.doc).title, one!.revision], ['A', 0]);
  assert.equal(await reads.one(from, { tenant_id: 't', id: 'a' }, 'short_doc'), { doc: '{"id":"a","title":"A"}', revision: 0 });
  assert.is(await reads.one(from, { tenant_id: 't', id: 'b' }), null);
  assert.is(await reads.one(from, { tenant_id: 'other', id: 'a' }), null);
});

test('following the cursors of a list yields every row once, in ascending or descending order; null is greater than any value', async () => {
  const { reads } = await platformOf(
    noted('a', 'A', { score: 1 }),
    noted('b', 'B'),
    noted('c', 'C', { score: 2 }),
    noted('d', 'D'),
    noted('e', 'E', { score: 1 }),
  );
  const sorted = async (column: string, descending: boolean, limit: number) =>
    idsOf(await ideaPages(reads, { sort: { column, descending }, limit }));
  for (const limit of [1, 2, 3, 5, 6]) {
    assert.is(await sorted('created_at', true, limit), 'edcba');
    assert.is(await sorted('created_at', false, limit), 'abcde');
    assert.is(await sorted('score', true, limit), 'dbcea');
    assert.is(await sorted('score', false, limit), 'aecbd');
  }
});

test('a page contains only rows that meet all conditions of the query: equality, ranges, lists, substrings, and conditions on other tables', async () => {
  const { reads } = await platformOf(noted('a', 'Red Fox', { score: 1 }), noted('b', 'red hen', { score: 2 }), noted('c', 'Blue'), [
    'a',
    'IdeaTagged',
    { tag: 'x' },
  ]);
  const ids = async (filter: IdeaFilter) =>
    idsOf([(await ideaPage(reads, { filter, sort: { column: 'created_at', descending: true }, limit: 9 })).body]);
  assert.is(await ids({ text: 'RED' }), 'ba');
  assert.is(await ids({ text: '%' }), '');
  assert.is(await ids({ score_from: 1, score: 1 }), 'a');
  assert.is(await ids({ score: null }), 'c');
  assert.is(await ids({ ids: ['a', 'c'] }), 'ca');
  assert.is(await ids({ tag_from: 'x' }), 'a');
  assert.is(await ids({ tag_from: 'y' }), '');
  assert.is(await ids({ before: '2026-01-01T01:00:00.001+01:00' }), 'a');
});

test('a list request is refused if its cursor does not come from a page, and the error points to the parameter cursor', async () => {
  const { reads } = await platformOf(noted('a', 'A'));
  const malformed = ['', '%', 'bm9uc2Vuc2U', Buffer.from('["x","a"]').toString('base64url'), Buffer.from('[null]').toString('base64url')];
  for (const cursor of malformed) {
    const { code, extra } = await refusal(ideaPage(reads, { sort: { column: 'created_at', descending: true }, limit: 2, cursor }));
    assert.equal([code, extra.errors?.[0]?.pointer], ['invalid', '/query/cursor']);
  }
});

test('a read with a consistency token waits for the position of the token, but not longer than the time limit of the read', async () => {
  const { reads, log } = await platformOf();
  const [first, second] = recordedEvents([noted('a', 'A'), noted('b', 'B')]);
  assert.is(reads.position('ideas'), null);
  await appendEvents(log, [first!]);
  const at = (index: number) => {
    const { commit, prepare } = (log as ReturnType<typeof memoryLog>).events[index]!.position;
    return { commit, prepare };
  };
  await reads.passed('ideas', tokenOf(at(0)));
  const next = { commit: at(0).commit + 1n, prepare: at(0).prepare + 1n };
  const waiting = reads.passed('ideas', tokenOf(next), 5_000);
  assert.is((await refusal(reads.passed('ideas', tokenOf(next), 1))).code, 'not_caught_up');
  await appendEvents(log, [second!]);
  await waiting;
  assert.is(reads.position('ideas'), tokenOf(at(1)));
});

test('reading a counter that has no row returns 0', async () => {
  const { reads } = await platformOf(noted('a', 'A'), ['b', 'IdeaLinked', { to: 'a' }]);
  assert.is(await reads.counter(from, { tenant_id: 't', id: 'a' }, 'links'), 1);
  assert.is(await reads.counter(from, { tenant_id: 't', id: 'z' }, 'links'), 0);
});

test.run();
