import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Aggregate } from '../../domain/aggregate.ts';
import { type Metadata, streamName } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

type DoorEvent = { type: 'DoorOpened' | 'DoorClosed'; data: object };
type State = { isOpen: boolean };

/**
 * A simple aggregate for these tests. Opening a door that is already open does nothing; closing a closed door is
 * refused.
 */
const Door: Aggregate<State, DoorEvent> = {
  category: 'door',
  initial: { isOpen: false },
  evolve: (_, { type }) => ({ isOpen: type === 'DoorOpened' }),
};
const opened: DoorEvent = { type: 'DoorOpened', data: {} };
const closed: DoorEvent = { type: 'DoorClosed', data: {} };
const open = ({ isOpen }: State): DoorEvent[] => (isOpen ? [] : [opened]);
const close = ({ isOpen }: State): DoorEvent[] => {
  if (!isOpen) throw new Refusal('conflict', 'the door is closed');
  return [closed];
};

const meta: Metadata = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
const STREAM = streamName('door', 't', 'd');

/** Simulates a process with its own cache. Several such processes append to the same log. */
const createProcess = (log: Log, cache = openAggregateCache(log, [])) => {
  const transact = createTransact(log, cache);
  return {
    cache,
    run: (decide: (state: State) => DoorEvent[]) => transact({ aggregate: Door, tenant: 't', id: 'd', decide, meta, seed: randomUUID() }),
  };
};

const append = (log: Log, revision: number, { type, data }: DoorEvent) =>
  log.append(STREAM, revision < 0 ? 'none' : revision, [{ id: randomUUID(), type, data, meta }]);

/** Waits for several turns of the event loop, so that the subscriptions have delivered all events. */
const eventsDelivered = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await nextTurn();
};

/**
 * Wraps a log so that its reads can be paused. A read that starts between `pause` and `resume` reads its events at
 * once, but yields them only after `resume`.
 */
const pausableReads = (log: Log) => {
  let gate: PromiseWithResolvers<void> | null = null;
  return {
    log: {
      ...log,
      read: async function* (...args: Parameters<Log['read']>) {
        const found = await Array.fromAsync(log.read(...args));
        await gate?.promise;
        yield* found;
      },
    } satisfies Log,
    pause: () => {
      gate = Promise.withResolvers();
    },
    resume: () => {
      gate?.resolve();
      gate = null;
    },
  };
};

test('if a decision on a cached state refuses or emits no event, the state is read from the log, and the decision is made again on that state', async () => {
  const log = memoryLog();
  const [one, other] = [createProcess(log), createProcess(log)];
  await one.run(open);
  await other.run(close);
  assert.is((await one.run(open)).revision, 2, 'the cached state is open, so there would be nothing to do');
  assert.is((await other.run(close)).revision, 3, 'the cached state is closed, so it would be refused');
  assert.is((await one.run(close).catch((error: Refusal) => error.code)) as unknown, 'conflict', 'the log confirms the refusal');
});

test('if the subscription delivers events of an aggregate while the aggregate is being loaded, the loaded state includes these events', async () => {
  const source = memoryLog();
  const { log, pause, resume } = pausableReads(source);
  await append(source, -1, opened);
  const cache = openAggregateCache(log, [Door]);
  await cache.start();
  pause();
  const loading = cache.load(Door, 't', 'd');
  await eventsDelivered();
  await append(source, 0, closed);
  await eventsDelivered();
  resume();
  assert.equal((await loading).state, { isOpen: false });
  assert.is(cache.peek(Door, 't', 'd')?.revision, 1);
  await cache.close();
});

test('a state that a slow read or a slow append yields does not replace a newer state in the cache', async () => {
  const source = memoryLog();
  const { log, pause, resume } = pausableReads(source);
  await append(source, -1, opened);
  const slow = openAggregateCache(log, []);
  pause();
  const reading = slow.refresh(Door, 't', 'd');
  await eventsDelivered();
  slow.put(STREAM, { id: 'd', state: { isOpen: false }, revision: 1, position: null });
  resume();
  assert.is((await reading).revision, 1);
  assert.is(slow.peek(Door, 't', 'd')?.revision, 1);

  const late: Log = {
    ...source,
    append: async (...args) => {
      const appended = await source.append(...args);
      await append(source, appended.revision, opened);
      await eventsDelivered();
      return appended;
    },
  };
  const cache = openAggregateCache(late, [Door]);
  await cache.start();
  await cache.load(Door, 't', 'd');
  assert.is((await createProcess(late, cache).run(close)).revision, 1);
  assert.equal(cache.peek(Door, 't', 'd')?.state, { isOpen: true });
  await cache.close();
});

test('if the subscription is re-established during a read, the state that was read is not cached', async () => {
  const source = memoryLog();
  const { log, pause, resume } = pausableReads(source);
  await append(source, -1, opened);
  const failure = Promise.withResolvers<Error | null>();
  let follows = 0;
  const cache = openAggregateCache(
    {
      ...log,
      follow: (follower) => {
        const following = source.follow(follower);
        return follows++ === 0 ? { ...following, failure: failure.promise } : following;
      },
    },
    [Door],
  );
  await cache.start();
  pause();
  const loading = cache.load(Door, 't', 'd');
  await eventsDelivered();
  failure.resolve(new LogError('damaged', 'the log is damaged at position 1'));
  while (follows < 2) await sleep(20);
  await eventsDelivered();
  resume();
  assert.is((await loading).revision, 0);
  assert.is(cache.peek(Door, 't', 'd'), undefined);
  assert.is((await cache.load(Door, 't', 'd')).revision, 0);
  assert.is(cache.peek(Door, 't', 'd')?.revision, 0);
  await cache.close();
});

test('the cache remembers only a bounded number of streams that do not exist', async () => {
  const cache = openAggregateCache(memoryLog(), [Door], { capacity: 5, cacheAbsent: [Door] });
  await cache.start();
  const ids = Array.from({ length: 40 }, (_, index) => `d${index}`);
  for (const id of ids) await cache.load(Door, 't', id);
  const known = ids.filter((id) => cache.peek(Door, 't', id) !== undefined);
  assert.ok(known.length > 0 && known.length <= 5, String(known.length));
  await cache.close();
});

test('the total size of cached states is bounded; a replaced state is no longer counted, and even a huge state is cached', () => {
  const cache = openAggregateCache(memoryLog(), [Door], { maxWeight: 100_000 });
  const put = (id: string, length: number) => {
    const state = { isOpen: true, sign: 'x'.repeat(length) };
    cache.put(streamName('door', 't', id), { id, state, revision: 0, position: null });
  };
  const known = (ids: readonly string[]) => ids.filter((id) => cache.peek(Door, 't', id) !== undefined).length;
  const ids = Array.from({ length: 100 }, (_, index) => `d${index}`);
  for (const id of ids) put(id, 10);
  assert.is(known(ids), 100);
  for (let times = 0; times < 50; times++) put('d0', 20_000);
  assert.is(known(ids), 100);
  const large = ids.map((id) => `large-${id}`);
  for (const id of large) put(id, 20_000);
  assert.ok(known(large) > 0 && known(large) <= 10, String(known(large)));
  put('huge', 1_000_000);
  assert.is(known(['huge']), 1);
});

test.run();
