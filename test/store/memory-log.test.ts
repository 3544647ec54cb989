import { randomUUID, type UUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { comparePositions, type Recorded } from '../../domain/event.ts';
import type { LogError, NewEvent } from '../../infra/eventstore/event-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const event = (type = 'Happened', id = randomUUID()): NewEvent => ({
  id,
  type,
  data: { n: 1 },
  meta: { tenant: 't', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 },
});
const kindOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: LogError) => error.kind,
  );
const all = async (source: AsyncIterable<Recorded>) => {
  const found: Recorded[] = [];
  for await (const one of source) found.push(one);
  return found;
};

test('repeating an append to the in-memory log returns its first result; appending other events at that revision fails with a conflict', async () => {
  const log = memoryLog();
  const [a, b, c] = [event(), event(), event()];
  const first = await log.append('agent-t.1', 'none', [a, b]);
  assert.equal(await log.append('agent-t.1', 'none', [a, b]), first);
  assert.is((await log.append('agent-t.1', 'none', [a])).revision, 0);
  assert.is(await kindOf(log.append('agent-t.1', 'none', [a, b, c])), 'conflict');
  assert.is(await kindOf(log.append('agent-t.1', 'none', [b, a])), 'conflict');
  assert.is(await kindOf(log.append('agent-t.1', 0, [c])), 'conflict');
  await log.append('agent-t.1', 1, [c]);
  assert.equal(await log.append('agent-t.1', 'none', [a, b]), first);
  assert.is(log.events.length, 3);
});

test('the in-memory log rejects invalid events, and its calls fail as unavailable during an outage', async () => {
  const log = memoryLog();
  assert.is(await kindOf(log.append('agent-t.1', 'none', [])), 'wrong-request');
  assert.is(await kindOf(log.append('agent-t.1', 'none', [event('')])), 'wrong-request');
  assert.is(await kindOf(log.append('agent-t.1', 'none', [event('A', 'no uuid' as UUID)])), 'wrong-request');
  const endOutage = log.outage();
  assert.is(await kindOf(log.append('agent-t.1', 'none', [event()])), 'unavailable');
  endOutage();
  assert.is(await kindOf(log.append('agent-t.1', 'none', [event()])), null);
});

test('positions in the log increase with gaps; a read from a position between two events fails as a wrong request', async () => {
  const log = memoryLog();
  for (let n = 0; n < 3; n++) await log.append(`agent-t.${n}`, 'none', [event(`Type${'x'.repeat(n)}`)]);
  const [one, two, three] = await all(log.readAll());
  assert.ok(comparePositions(two!.position, one!.position) > 0);
  assert.equal(
    (await all(log.readAll({ from: two!.position }))).map(({ id }) => id),
    ['1', '2'],
  );
  assert.equal(
    (await all(log.readAll({ backwards: true, limit: 2 }))).map(({ id }) => id),
    ['2', '1'],
  );
  const odd = { commit: three!.position.commit + 1n, prepare: three!.position.prepare };
  assert.is(await kindOf(all(log.readAll({ from: odd }))), 'wrong-request');
});

test('a follower gets stored and new events one at a time; if its filter rejects events, it gets a checkpoint instead', async () => {
  const log = memoryLog();
  await log.append('agent-t.1', 'none', [event('A'), event('B')]);
  await log.append('model-t.1', 'none', [event('C')]);
  const received: string[] = [];
  let busy = false;
  const end = new Promise<void>((resolve) => {
    const subscription = log.follow({
      filter: { streamPrefixes: ['agent-'] },
      event: async ({ type }) => {
        assert.not(busy);
        busy = true;
        await new Promise((done) => setTimeout(done, 1));
        busy = false;
        received.push(type);
        if (type === 'D') void subscription.stop().then(resolve);
      },
      checkpoint: ({ commit }) => void received.push(`checkpoint ${commit === log.events[2]!.position.commit}`),
      caughtUp: () => {
        received.push('caught up');
        void log.append('agent-t.2', 'none', [event('D')]);
      },
    });
  });
  await end;
  assert.equal(received, ['A', 'B', 'checkpoint true', 'caught up', 'D']);
});

test('if a follower throws, its subscription ends with that error; a subscription that starts at the end of the log gets only new events', async () => {
  const log = memoryLog();
  await log.append('agent-t.1', 'none', [event('A')]);
  const broken = log.follow({
    event: () => {
      throw new Error('no');
    },
  });
  assert.is((await broken.failure)?.message, 'no');
  const received: string[] = [];
  const late = log.follow({ from: 'end', event: ({ type }) => void received.push(type) });
  await Promise.resolve();
  await log.append('agent-t.1', 0, [event('B')]);
  await new Promise((done) => setTimeout(done, 5));
  await late.stop();
  assert.equal(received, ['B']);
  assert.is(await late.failure, null);
});

test.run();
