import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fold } from '../../domain/aggregate.ts';
import { type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { emptyAggregate } from '../../infra/aggregates/fold-from.ts';
import { loadStream } from '../../infra/aggregates/snapshots.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const TENANT = `c${'t'.repeat(24)}`;
const ID = `c${'s'.repeat(24)}`;
const STREAM = streamName(Session.category, TENANT, ID);
const { interval } = Session.snapshots;

/** An aggregate for these tests: each event adds one number, and the state is the list of all numbers. */
type NumberAdded = { type: 'NumberAdded'; data: { value: number } };
type Numbers = { values: readonly number[] };
const numbers = {
  category: 'session',
  initial: { values: [] } as Numbers,
  evolve: ({ values }: Numbers, { data }: Recorded<NumberAdded>): Numbers => ({ values: [...values, data.value] }),
  snapshots: { version: 1, interval },
};

const setup = () => {
  const log = memoryLog();
  const meta: Metadata = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
  const transact = createTransact(log, openAggregateCache(log, []));
  /** Appends `count` events, in appends of `size` events each. */
  const add = async (count: number, size = 1): Promise<void> => {
    for (let left = count; left > 0; left -= size) {
      const decide = ({ values }: Numbers): NumberAdded[] =>
        Array.from({ length: Math.min(size, left) }, (_, index) => ({ type: 'NumberAdded', data: { value: values.length + index } }));
      await transact({ aggregate: numbers, tenant: TENANT, id: ID, decide, meta, seed: randomUUID() });
    }
  };
  let events = 0;
  const counting = {
    ...log,
    read: async function* (...call: Parameters<typeof log.read>) {
      for await (const event of log.read(...call)) {
        events++;
        yield event;
      }
    },
  };
  const load = async (range: { known?: number; until?: number } = {}, version = 1) => {
    const all = (await Array.fromAsync(log.read(STREAM))) as Recorded<NumberAdded>[];
    const known = {
      ...emptyAggregate(numbers, ID),
      state: fold(numbers, all.slice(0, (range.known ?? -1) + 1)),
      revision: range.known ?? -1,
    };
    const until = range.until === undefined ? {} : { until: range.until };
    events = 0;
    const aggregate = { ...numbers, snapshots: { version, interval } };
    const { state, revision } = await loadStream(counting, aggregate, STREAM, { known, ...until });
    return { count: state.values.length, isInOrder: state.values.every((value, index) => value === index), revision, events };
  };
  return { log, add, load };
};

for (const size of [1, 2, 3, interval - 1, interval])
  test(`when events are appended ${size} at a time, loading the stream reads only the last events of the stream, however long it is`, async () => {
    const { add, load } = setup();
    for (let length = size; length <= 4 * interval; length += size) {
      await add(size, size);
      const { events, ...loaded } = await load();
      assert.equal(loaded, { count: length, isInOrder: true, revision: length - 1 });
      assert.ok(events <= 2 * interval, `${events} events are read of ${length}`);
    }
  });

test('loading a stream up to any of its revisions returns the state at that revision', async () => {
  const { add, load } = setup();
  await add(3 * interval + 5, 3);
  for (let until = 0; until < 3 * interval + 5; until++) {
    const { events, ...loaded } = await load({ until });
    assert.equal(loaded, { count: until + 1, isInOrder: true, revision: until });
    assert.ok(events <= 2 * interval, `${events} events are read`);
  }
});

test('if the state at an earlier revision is known, loading reads only the events after that revision', async () => {
  const { add, load } = setup();
  await add(3 * interval);
  assert.equal(await load({ known: 3 * interval - 1 }), { count: 3 * interval, isInOrder: true, revision: 3 * interval - 1, events: 1 });
  assert.equal(await load({ known: 3 * interval - 4 }), { count: 3 * interval, isInOrder: true, revision: 3 * interval - 1, events: 3 });
});

test('if the snapshot in an event has a version that differs from the present one, the snapshot is ignored and the whole stream is read', async () => {
  const { add, load } = setup();
  await add(3 * interval);
  const { events, ...loaded } = await load({}, 2);
  assert.equal(loaded, { count: 3 * interval, isInOrder: true, revision: 3 * interval - 1 });
  assert.is(events, 2 * interval + 3 * interval);
});

test('loading a stream that does not exist returns the initial state', async () => {
  const { load } = setup();
  assert.equal(await load(), { count: 0, isInOrder: true, revision: -1, events: 0 });
});

test('in each interval of a stream, except the first, exactly one event contains a snapshot of the state before that event', async () => {
  const { log, add } = setup();
  await add(3 * interval);
  const stored = log.events.filter(({ meta }) => meta.stateBefore).map(({ revision, meta }) => [revision, meta.stateBefore]);
  const upTo = (length: number): unknown => ({ version: 1, state: { values: Array.from({ length }, (_, index) => index) } });
  assert.equal(
    stored,
    [interval, 2 * interval].map((revision) => [revision, upTo(revision)]),
  );
});

test('a session snapshot of version 7 has exactly the fields listed here: a change of the fields needs a new version', () => {
  assert.is(Session.snapshots.version, 7);
  const fields =
    'agent_id agent_revision cause_id cause_kind completed_at completion_tokens continues_id cost_micros created_at created_by_id cron_occurrence_id delivery_id expires_at files hour_usage id is_interrupted is_stopped last_answer_id last_attachment last_message last_sent message_count model_id model_ids open_approvals position prompt_tokens repeats sealed_error sealed_summary status stopped_position tenant_id title user_id';
  assert.equal(Object.keys(Session.initial).sort().join(' '), fields);
});

test.run();
