import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import { compileProjection } from '../../projections/engine/compiled-projection.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { insert, patch } from '../../projections/projection.ts';
import type { Table } from '../../projections/table.ts';
import { tenantCounter } from '../../projections/tenant-counter.ts';
import { scenario } from '../fixtures/projection-scenario.ts';
import { type EventSpec, ideas, ideasTable, idleEvents, recordedEvents } from '../fixtures/test-projection.ts';

const storeOf = (events: readonly Recorded[], sizes: readonly number[] = []) => {
  const store = openMemoryStore([ideas]);
  let at = 0;
  for (const size of sizes) {
    store.feed(events.slice(at, at + size));
    at += size;
  }
  store.feed(events.slice(at));
  return store;
};
const rowOf = (events: readonly Recorded[], id = 'a') => storeOf(events).rows('ideas', 'ideas').get(`t\0${id}`);
const parkedReasons = (events: readonly Recorded[]) =>
  storeOf(events)
    .unapplied('ideas')
    .map(({ reason }) => reason);
const eventsOf = (...given: EventSpec[]) => recordedEvents(given);

test('the revision of a row is that of the last event in its own stream, even if that event is ignored or unknown', () => {
  const events = eventsOf(
    ['a', 'IdeaNoted', { title: 'one' }],
    ['a', 'IdeaViewed'],
    ['a', 'NeverHeardOf'],
    ['b', 'IdeaNoted', { title: 'two' }],
    ['b', 'IdeaLinked', { to: 'a' }],
  );
  assert.is(rowOf(events)?.revision, 2);
  assert.is(rowOf(events)?.row.links, 1);
  assert.is(rowOf(events)?.touched, 'idea-t.b@1');
});

test('after a row is removed, a later event of its stream that the projection ignores is not parked and does not create the row again', () => {
  const store = storeOf(eventsOf(['a', 'IdeaNoted', { title: 'one' }], ['a', 'IdeaDropped'], ['a', 'IdeaViewed']));
  assert.is(store.rows('ideas', 'ideas').size, 0);
  assert.equal(store.unapplied('ideas'), []);
});

test('an event that changes a missing row is parked together with all later events of its stream; events of other streams are applied', () => {
  const store = storeOf(
    eventsOf(
      ['a', 'IdeaRenamed', { title: 'x' }],
      ['b', 'IdeaNoted', { title: 'b' }],
      ['a', 'IdeaNoted', { title: 'late' }],
      ['b', 'IdeaLinked', { to: 'a' }],
      ['c', 'IdeaNoted', { title: 'c' }],
    ),
  );
  assert.equal([...store.rows('ideas', 'ideas').keys()], ['t\0b', 't\0c']);
  assert.equal(
    store.unapplied('ideas').map(({ event, first }) => [event.id, event.revision, first]),
    [
      ['a', 0, true],
      ['a', 1, false],
      ['b', 1, true],
    ],
  );
});

test("the first event that changes a tenant's counter creates the row of the counter, which starts at zero", () => {
  const notes = tenantCounter('idea', 'notes');
  const on = { IdeaNoted: ({ tenant }: Recorded) => notes.add(tenant, 1), IdeaDropped: ({ tenant }: Recorded) => notes.add(tenant, -1) };
  const store = openMemoryStore([{ name: 'notes', version: 1, categories: ['idea'], tables: [notes.table], on }]);
  store.feed(eventsOf(['a', 'IdeaNoted'], ['b', 'IdeaNoted'], ['a', 'IdeaDropped'], ['c', 'IdeaNoted']));
  assert.equal(store.unapplied('notes'), []);
  assert.equal(
    [...store.rows('notes', 'idea_counts').values()].map(({ row }) => row),
    [{ tenant_id: 't', notes: 2 }],
  );
});

test('if one change of an event cannot be applied, none of its changes is applied', () => {
  const store = storeOf(eventsOf(['a', 'IdeaNoted', { title: 'one' }], ['a', 'IdeaTorn', { title: 'half' }]));
  assert.is(store.rows('ideas', 'ideas').get('t\0a')?.row.title, 'one');
  assert.match(store.unapplied('ideas')[0]!.reason, /no row to patch/);
});

test('the reason of a parked event says what is wrong: an unknown field, a wrong type, a document that cannot be rendered, or a row that already exists', () => {
  const noted: EventSpec = ['a', 'IdeaNoted', { title: 'one' }];
  assert.match(parkedReasons(eventsOf(noted, ['a', 'IdeaRenamed', { colour: 'red' }]))[0]!, /has the field colour/);
  assert.match(parkedReasons(eventsOf(noted, ['a', 'IdeaRenamed', { title: 7 }]))[0]!, /title is not a string/);
  assert.match(parkedReasons(eventsOf(noted, ['a', 'IdeaRenamed', { mood: 'grim' }]))[0]!, /mood/);
  assert.match(parkedReasons(eventsOf(['a', 'IdeaNoted', {}]))[0]!, /cannot render doc: title/);
  assert.match(parkedReasons(eventsOf(['a', 'IdeaTagged', { tag: 'x' }], ['b', 'IdeaTagged', { tag: 'x' }]))[0]!, /already exists/);
  assert.equal(parkedReasons(eventsOf(['a', 'IdeaTagged', { tag: 'x' }], ['a', 'IdeaTagged', { tag: 'x' }])), []);
});

test('after a parked event, an event of another stream in the same batch is still applied', () =>
  assert.is(rowOf(eventsOf(['b', 'IdeaRenamed', { title: 'x' }], ['a', 'IdeaNoted', { title: 'fine' }]))?.row.title, 'fine'));

test('a patch with ifEqual changes only fields with the expected value, but adds its items, one per event', () => {
  const table = {
    name: 'ideas',
    key: ['id'],
    columns: { id: 'text', title: 'text', notes: 'jsonb' },
    docs: {},
  } as const satisfies Table;
  const store = openMemoryStore([
    {
      name: 'noted',
      version: 1,
      categories: ['idea'],
      tables: [table],
      on: {
        IdeaNoted: ({ id, data }: Recorded) => insert('ideas', { id, title: (data as { title: string }).title, notes: [] }),
        IdeaRenamed: ({ id, data }: Recorded) => {
          const { from, title, event_id, note } = data as Record<'from' | 'title' | 'event_id' | 'note', string>;
          return patch('ideas', { id }, { title }, { ifEqual: { title: from }, items: { notes: [{ event_id, note }] } });
        },
      },
    },
  ]);
  store.feed(
    eventsOf(
      ['a', 'IdeaNoted', { title: 'one' }],
      ['a', 'IdeaRenamed', { from: 'one', title: 'two', event_id: 'e1', note: 'applied' }],
      ['a', 'IdeaRenamed', { from: 'one', title: 'three', event_id: 'e2', note: 'too late' }],
      ['a', 'IdeaRenamed', { from: 'two', title: 'four', event_id: 'e1', note: 'applied again' }],
      ['a', 'IdeaRenamed', { from: 'one', title: 'five', event_id: 'e3', note: 'too late' }],
    ),
  );
  assert.equal(store.unapplied('noted'), []);
  const { title, notes } = store.rows('noted', 'ideas').get('a')!.row;
  assert.is(title, 'four');
  assert.equal(notes, [
    { event_id: 'e2', note: 'too late' },
    { event_id: 'e1', note: 'applied again' },
    { event_id: 'e3', note: 'too late' },
  ]);
});

test('characters that Postgres refuses are escaped, and a field __proto__ changes no prototype; an event with a too long row key or an unknown version is parked', () => {
  const unusualText = JSON.parse('{"title":"a\\u0000b\\ud800","extra":{"__proto__":{"x":1},"k\\u0000":"\\udc00"}}') as Record<
    string,
    unknown
  >;
  const row = rowOf(eventsOf(['a', 'IdeaNoted', unusualText]))!.row;
  assert.is(row.title, 'a\\u0000b\\ud800');
  assert.is(JSON.stringify(row.extra), '{"k\\\\u0000":"\\\\udc00","__proto__":{"x":1}}');
  assert.is(({} as Record<string, unknown>).x, undefined);
  assert.match(parkedReasons(eventsOf(['a', 'IdeaTagged', { tag: 'x'.repeat(3_000) }]))[0]!, /too long to be indexed/);
  assert.match(parkedReasons(recordedEvents([['a', 'IdeaNoted', { title: 'new' }]], { v: 9 }))[0]!, /does not know version 9/);
});

test('event types with names that all JavaScript objects inherit, such as toString and __proto__, are treated as unknown types', () =>
  assert.equal(parkedReasons(eventsOf(['a', 'constructor'], ['a', 'toString'], ['a', '__proto__'])), []));

test('compiling a projection with an invalid table throws an error that says what is invalid', () => {
  const with_ = (table: Partial<Table>) => () => compileProjection({ ...ideas, tables: [{ ...ideasTable, ...table }] });
  assert.throws(with_({ key: ['nothing'] }), /ideas\.ideas: nothing is not a column/);
  assert.throws(with_({ columns: { ...ideasTable.columns, revision: 'bigint' } }), /two columns have the same name/);
  assert.throws(with_({ columns: { ...ideasTable.columns, search: 'text' } }), /two columns have the same name/);
  assert.throws(with_({ search: ['doc'] }), /doc is not a column/);
  assert.throws(with_({ name: 'Drop"' }), /is not a valid name/);
});

test('the same events yield the same rows, however they are divided into batches', () =>
  fc.assert(
    fc.property(scenario, fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 20 }), (given, sizes) => {
      const events = recordedEvents(given);
      const [batched, single] = [
        storeOf(events, sizes),
        storeOf(
          events,
          events.map(() => 1),
        ),
      ];
      for (const { name } of ideas.tables) {
        const rows = (store: typeof batched) => [...store.rows('ideas', name)].sort(([a], [b]) => (a < b ? -1 : 1));
        assert.equal(rows(batched), rows(single));
      }
      const parked = (store: typeof batched) => store.unapplied('ideas').map(({ event, reason }) => [event.stream, event.revision, reason]);
      assert.equal(parked(batched), parked(single));
    }),
    { numRuns: 300 },
  ));

test('events of types that a projection ignores create no rows', () => assert.is(storeOf(idleEvents(3)).rows('ideas', 'ideas').size, 0));

test('a patch with maxItems keeps only the last items of its lists, and computes fields from the row that results', () => {
  const table = { name: 'ideas', key: ['id'], columns: { id: 'text', notes: 'jsonb', first: 'text' }, docs: {} } as const satisfies Table;
  const store = openMemoryStore([
    {
      name: 'noted',
      version: 1,
      categories: ['idea'],
      tables: [table],
      on: {
        IdeaNoted: ({ id }: Recorded) => insert('ideas', { id, notes: [] }),
        IdeaRenamed: ({ id, data }: Recorded) =>
          patch(
            'ideas',
            { id },
            {},
            {
              items: { notes: [{ event_id: (data as { title: string }).title }] },
              maxItems: 2,
              computed: ({ notes }) => ({ first: (notes as { event_id: string }[])[0]!.event_id }),
            },
          ),
      },
    },
  ]);
  const renamed = ['e1', 'e2', 'e3'].map((title) => ['a', 'IdeaRenamed', { title }] as const);
  store.feed(eventsOf(['a', 'IdeaNoted', {}], ...renamed));
  const { notes, first } = store.rows('noted', 'ideas').get('a')!.row;
  assert.equal([notes, first], [[{ event_id: 'e2' }, { event_id: 'e3' }], 'e2']);
});

test.run();
