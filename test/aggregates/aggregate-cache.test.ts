import { randomUUID } from 'node:crypto';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Aggregate } from '../../domain/aggregate.ts';
import { type Metadata, streamName } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

type Moved = { type: 'DoorOpened' | 'DoorClosed'; data: object };
type State = { isOpen: boolean };

/** A door: opened or closed, and a refusal or nothing where it is so already. */
const Door: Aggregate<State, Moved> = {
  category: 'door',
  initial: { isOpen: false },
  evolve: (_, { type }) => ({ isOpen: type === 'DoorOpened' }),
};
const opened: Moved = { type: 'DoorOpened', data: {} };
const closed: Moved = { type: 'DoorClosed', data: {} };
const open = ({ isOpen }: State): Moved[] => (isOpen ? [] : [opened]);
const close = ({ isOpen }: State): Moved[] => {
  if (!isOpen) throw new Refusal('conflict', 'it is closed');
  return [closed];
};

const meta: Metadata = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
const STREAM = streamName('door', 't', 'd');

/** A process of its own over a log that others write too. */
const processOn = (log: Log, cache = openAggregateCache(log, [])) => {
  const transact = createTransact(log, cache);
  return {
    cache,
    does: (decide: (state: State) => Moved[]) => transact({ aggregate: Door, tenant: 't', id: 'd', decide, meta, seed: randomUUID() }),
  };
};

const written = (log: Log, revision: number, { type, data }: Moved) =>
  log.append(STREAM, revision < 0 ? 'none' : revision, [{ id: randomUUID(), type, data, meta }]);

/** Lets what has come to be known be heard. */
const heard = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};

/** A log whose reads stand still behind what they have found, until they are let go on. */
const haltingReads = (log: Log) => {
  let gate: PromiseWithResolvers<void> | null = null;
  return {
    log: {
      ...log,
      read: async function* (...asked: Parameters<Log['read']>) {
        const found = await Array.fromAsync(log.read(...asked));
        await gate?.promise;
        yield* found;
      },
    } satisfies Log,
    halt: () => {
      gate = Promise.withResolvers();
    },
    goOn: () => {
      gate?.resolve();
      gate = null;
    },
  };
};

test('what memory would refuse, or has done already, is asked of the log: another process may have changed it', async () => {
  const log = memoryLog();
  const [one, other] = [processOn(log), processOn(log)];
  await one.does(open);
  await other.does(close);
  assert.is((await one.does(open)).revision, 2, 'memory has it open, and nothing to do');
  assert.is((await other.does(close)).revision, 3, 'memory has it closed, and refuses');
  assert.is((await one.does(close).catch((error: Refusal) => error.code)) as unknown, 'conflict', 'the log has it so');
});

test('what is heard while a stream is read is read too, before it counts', async () => {
  const source = memoryLog();
  const { log, halt, goOn } = haltingReads(source);
  await written(source, -1, opened);
  const cache = openAggregateCache(log, [Door]);
  await cache.start();
  halt();
  const loading = cache.load(Door, 't', 'd');
  await heard();
  await written(source, 0, closed);
  await heard();
  goOn();
  assert.equal((await loading).state, { isOpen: false });
  assert.is(cache.peek(Door, 't', 'd')?.revision, 1);
  await cache.close();
});

test('neither a slow read nor a slow append takes the place of what is newer', async () => {
  const source = memoryLog();
  const { log, halt, goOn } = haltingReads(source);
  await written(source, -1, opened);
  const slow = openAggregateCache(log, []);
  halt();
  const reading = slow.refresh(Door, 't', 'd');
  await heard();
  slow.put(STREAM, { id: 'd', state: { isOpen: false }, revision: 1, position: null });
  goOn();
  assert.is((await reading).revision, 1);
  assert.is(slow.peek(Door, 't', 'd')?.revision, 1);

  const late: Log = {
    ...source,
    append: async (...asked) => {
      const answer = await source.append(...asked);
      await written(source, answer.revision, opened);
      await heard();
      return answer;
    },
  };
  const cache = openAggregateCache(late, [Door]);
  await cache.start();
  await cache.load(Door, 't', 'd');
  assert.is((await processOn(late, cache).does(close)).revision, 1);
  assert.equal(cache.peek(Door, 't', 'd')?.state, { isOpen: true });
  await cache.close();
});

test('what was begun to be read before the log was followed anew is not kept', async () => {
  const source = memoryLog();
  const { log, halt, goOn } = haltingReads(source);
  await written(source, -1, opened);
  const harmed = Promise.withResolvers<Error | null>();
  let follows = 0;
  const cache = openAggregateCache(
    {
      ...log,
      follow: (follower) => {
        const following = source.follow(follower);
        return follows++ === 0 ? { ...following, failure: harmed.promise } : following;
      },
    },
    [Door],
  );
  await cache.start();
  halt();
  const loading = cache.load(Door, 't', 'd');
  await heard();
  harmed.resolve(new LogError('damaged', 'the log is damaged at position 1'));
  while (follows < 2) await sleep(20);
  await heard();
  goOn();
  assert.is((await loading).revision, 0);
  assert.is(cache.peek(Door, 't', 'd'), undefined);
  assert.is((await cache.load(Door, 't', 'd')).revision, 0);
  assert.is(cache.peek(Door, 't', 'd')?.revision, 0);
  await cache.close();
});

test('of what is not there no more is remembered than of what is', async () => {
  const cache = openAggregateCache(memoryLog(), [Door], { capacity: 5, cacheAbsent: [Door] });
  await cache.start();
  const ids = Array.from({ length: 40 }, (_, index) => `d${index}`);
  for (const id of ids) await cache.load(Door, 't', id);
  const known = ids.filter((id) => cache.peek(Door, 't', id) !== undefined);
  assert.ok(known.length > 0 && known.length <= 5, String(known.length));
  await cache.close();
});

test('of large states fewer are remembered; one that changes or is too large for all counts once', () => {
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
