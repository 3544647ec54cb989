import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import type { PageQuery, Source } from '../../projections/read-model.ts';
import { type EventSpec, ideas, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';

const from: Source = { projection: 'ideas', table: ideasTable };
const noted = (id: string, title: string, more: object = {}): EventSpec => [id, 'IdeaNoted', { title, ...more }];
const storeOf = (...given: EventSpec[]) => {
  const store = openMemoryStore([ideas]);
  store.feed(recordedEvents(given));
  return store;
};
const query = (more: Partial<PageQuery> = {}): PageQuery => ({
  from,
  doc: 'short_doc',
  where: [{ column: 'tenant_id', op: '=', value: 't' }],
  sort: { column: 'created_at', descending: true },
  limit: 2,
  ...more,
});
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

test('looking up a row returns its document and the revision of its stream; soft-deleted rows and rows of other tenants are not found', async () => {
  const { reads } = storeOf(noted('a', 'A'), noted('b', 'B'), ['b', 'IdeaRenamed', { gone: true }]);
  const one = await reads.one(from, { tenant_id: 't', id: 'a' });
  assert.equal([JSON.parse(one!.doc).title, one!.revision], ['A', 0]);
  assert.equal(await reads.one(from, { tenant_id: 't', id: 'a' }, 'short_doc'), { doc: '{"id":"a","title":"A"}', revision: 0 });
  assert.is(await reads.one(from, { tenant_id: 't', id: 'b' }), null);
  assert.is(await reads.one(from, { tenant_id: 'other', id: 'a' }), null);
});

test('following the cursors yields every row once, in ascending or descending order, with nulls placed as in Postgres', async () => {
  const { reads } = storeOf(
    noted('a', 'A', { score: 1 }),
    noted('b', 'B'),
    noted('c', 'C', { score: 2 }),
    noted('d', 'D'),
    noted('e', 'E', { score: 1 }),
  );
  const walk = async (sort: PageQuery['sort']) => {
    const ids: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const { body, next } = await reads.page(query({ sort, cursor }));
      ids.push(...(JSON.parse(body) as { id: string }[]).map(({ id }) => id));
      if (!next) return ids.join('');
      cursor = next;
    }
  };
  assert.is(await walk({ column: 'created_at', descending: true }), 'edcba');
  assert.is(await walk({ column: 'created_at', descending: false }), 'abcde');
  assert.is(await walk({ column: 'score', descending: true }), 'dbcea');
  assert.is(await walk({ column: 'score', descending: false }), 'aecbd');
});

test('a page contains only rows that meet all conditions: equality, ranges, lists, substrings, and conditions on other tables', async () => {
  const { reads } = storeOf(noted('a', 'Red Fox', { score: 1 }), noted('b', 'red hen', { score: 2 }), noted('c', 'Blue'), [
    'a',
    'IdeaTagged',
    { tag: 'x' },
  ]);
  const ids = async (...where: PageQuery['where']) =>
    (JSON.parse((await reads.page(query({ where, limit: 9 }))).body) as { id: string }[]).map(({ id }) => id).join('');
  assert.is(await ids({ column: ['title', 'id'], op: 'contains', value: 'RED' }), 'ba');
  assert.is(await ids({ column: 'title', op: 'contains', value: '%' }), '');
  assert.is(await ids({ column: 'score', op: '>=', value: 1 }, { column: 'score', op: '<', value: 2 }), 'a');
  assert.is(await ids({ column: 'score', op: '=', value: null }), 'c');
  assert.is(await ids({ column: 'id', op: 'in', value: ['a', 'c'] }), 'ca');
  assert.is(await ids({ op: 'exists', table: 'tags', on: { idea_id: 'id' }, where: [{ column: 'tag', op: '=', value: 'x' }] }), 'a');
  assert.is(await ids({ column: 'created_at', op: '<', value: '2026-01-01T01:00:00.001+01:00' }), 'a');
});

test('a cursor that no page has returned is refused, and the refusal points to the parameter cursor', async () => {
  const { reads } = storeOf(noted('a', 'A'));
  for (const cursor of [
    '',
    '%',
    'bm9uc2Vuc2U',
    Buffer.from('["x","a"]').toString('base64url'),
    Buffer.from('[null]').toString('base64url'),
  ]) {
    const { code, extra } = await refusal(reads.page(query({ cursor })));
    assert.equal([code, extra.errors?.[0]?.pointer], ['invalid', '/query/cursor']);
  }
});

test('a read waits for its consistency token, but not longer than its time limit', async () => {
  const store = openMemoryStore([ideas]);
  const [first, second] = recordedEvents([noted('a', 'A'), noted('b', 'B')]);
  assert.is(store.reads.position('ideas'), null);
  store.feed([first!]);
  await store.reads.passed('ideas', tokenOf(first!.position));
  const waiting = store.reads.passed('ideas', tokenOf(second!.position), 1_000);
  assert.is((await refusal(store.reads.passed('ideas', tokenOf(second!.position), 1))).code, 'not_caught_up');
  store.feed([second!]);
  await waiting;
  assert.is(store.reads.position('ideas'), tokenOf(second!.position));
});

test('the value of a counter that has no row is 0', async () => {
  const { reads } = storeOf(noted('a', 'A'), ['b', 'IdeaLinked', { to: 'a' }]);
  assert.is(await reads.counter(from, { tenant_id: 't', id: 'a' }, 'links'), 1);
  assert.is(await reads.counter(from, { tenant_id: 't', id: 'z' }, 'links'), 0);
});

test.run();
