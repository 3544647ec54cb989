// limit: 180
import { randomUUID } from 'node:crypto';
import { type AddressInfo, connect, createServer } from 'node:net';
import { CancelledError, EventStoreDBClient, TimeoutError, UnavailableError } from '@eventstore/db-client';
import * as assert from 'uvu/assert';
import type { Metadata, Position, Recorded } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { classify } from '../../infra/eventstore/errors.ts';
import { type Log, LogError, type NewEvent } from '../../infra/eventstore/event-log.ts';
import { follow } from '../../infra/eventstore/subscription.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { limitFileSize, pause, startStore, storeDir } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const meta: Metadata = { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
const happened = (over: Partial<NewEvent> = {}): NewEvent => ({ id: randomUUID(), type: 'Happened', data: { n: 1 }, meta, ...over });

const errorKind = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'none';
  } catch (error) {
    return error instanceof LogError ? error.kind : `not a LogError: ${error}`;
  }
};

const withLog = async (work: (log: Log, url: string) => Promise<void>): Promise<void> => {
  const store = await startStore();
  const log = openLog(store.url);
  try {
    await work(log, store.url);
  } finally {
    await log.close();
    await store.end();
  }
};

test('the event log client rejects invalid events and events that are too large before it sends them', () =>
  withLog(async (log) => {
    const wrong = [[happened({ type: '' })], [happened({ id: 'none' })], [happened({ id: '00000000-0000-0000-0000-000000000000' })], []];
    const large = [
      [happened({ data: new Uint8Array(1_000_001) })],
      [happened({ data: { text: 'x'.repeat(1_000_000) } })],
      [happened({ data: { text: 'é'.repeat(300_000) } }), happened({ data: { text: 'é'.repeat(300_000) } })],
    ];
    for (const events of wrong) assert.is(await errorKind(log.append('item-platform.a', 'none', events)), 'wrong-request');
    for (const events of large) assert.is(await errorKind(log.append('item-platform.a', 'none', events)), 'too-large');
    assert.is(await log.last('item-platform.a'), null);
  }));

test('after thousands of cancelled reads and reads of missing streams, other calls of the client still succeed', () =>
  withLog(async (log) => {
    const stream = 'item-platform.long';
    await log.append(
      stream,
      'none',
      Array.from({ length: 50 }, () => happened()),
    );
    const absent = async (n: number): Promise<void> => assert.equal(await Array.fromAsync(log.read(`item-platform.none${n}`)), []);
    const readFirst = async (): Promise<void> => {
      for await (const { revision } of log.read(stream)) return assert.is(revision, 0);
    };
    const appends = Array.from({ length: 30 }, (_, n) => pause(n * 50).then(() => log.append(`item-platform.b${n}`, 'none', [happened()])));
    for (let round = 0; round < 60; round++) await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? absent(n) : readFirst())));
    for (const appended of await Promise.all(appends)) assert.is(appended.revision, 0);
  }));

test('repeating an append returns the result of the first append; appending other events at the same revision fails with a conflict', () =>
  withLog(async (log) => {
    const [one, two] = [happened(), happened()];
    const first = await log.append('item-platform.a', 'none', [one, two]);
    assert.equal(await log.append('item-platform.a', 'none', [one, two]), first);
    assert.is(await errorKind(log.append('item-platform.a', 'none', [happened()])), 'conflict');
    assert.is(await errorKind(log.append('item-platform.a', 0, [two, happened()])), 'conflict');
    assert.equal(first.revision, 1);
  }));

test('a read returns bytes as bytes and JSON as JSON, and leaves out the events of other applications', () =>
  withLog(async (log) => {
    const data = new Uint8Array([0, 255, 10]);
    await log.append('item-platform.a', 'none', [happened({ data }), happened({ data: { ä: ['🙂'] } })]);
    await log.append('not a platform stream', 'none', [happened()]);
    const read = await Array.fromAsync(log.read('item-platform.a'));
    assert.equal([...(read[0]!.data as Uint8Array)], [...data]);
    assert.equal(read[1]!.data, { ä: ['🙂'] });
    const all = await Array.fromAsync(log.readAll());
    assert.equal(
      all.map(({ stream }) => stream),
      ['item-platform.a', 'item-platform.a'],
    );
    const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
    assert.equal(last!.position, read[1]!.position);
  }));

test("connection errors are classified as 'unavailable', and unknown errors as 'wrong-request'", () => {
  const grpc = Object.assign(new Error('x'), { metadata: undefined }) as never;
  for (const error of [new UnavailableError(grpc), new TimeoutError(grpc), new CancelledError(grpc), new Error('Server Is Not Ready')])
    assert.is(classify(error).kind, 'unavailable', String(error));
  const connectionErrors = [
    Object.assign(new Error('14 UNAVAILABLE: Connection dropped'), { code: 14 }),
    new Error('Channel has been shut down'),
    new Error('1 CANCELLED: Cancelled on client'),
    Object.assign(new Error('13 INTERNAL: Response message parsing error: out of range'), { code: 13 }),
    Object.assign(new Error('14 UNAVAILABLE: No connection established. Last error: Failed to connect'), { code: 14 }),
    Object.assign(new Error('The pending stream has been canceled'), { code: 'ERR_HTTP2_STREAM_CANCEL' }),
    Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }),
  ];
  for (const error of connectionErrors) assert.is(classify(error).kind, 'unavailable', String(error));
  assert.is(classify(Object.assign(new Error('2 UNKNOWN: Exception was thrown by handler.'), { code: 2 })).kind, 'wrong-request');
  assert.is(classify(new Error('something else')).kind, 'wrong-request');
});

/**
 * Starts a TCP proxy that closes its first connection. Later ones forward everything up to the first response that
 * reports a conflict, and then nothing more.
 */
const startFreezingProxy = async (port: number): Promise<number> => {
  let connections = 0;
  let isFrozen = false;
  const server = createServer((near) => {
    if (connections++ === 0) return void near.destroy();
    const far = connect(port, '127.0.0.1');
    afterTest(() => [near, far].forEach((socket) => void socket.destroy()));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from
        .on('error', () => {})
        .on('data', (bytes: Buffer) => {
          if (!isFrozen) to.write(bytes);
          isFrozen ||= bytes.includes('WrongExpectedVersion');
        });
  });
  afterTest(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

test('an append fails at its deadline even if the event store stops answering after it has reported a conflict', () =>
  withLog(async (log, url) => {
    await log.append('item-platform.a', 'none', [happened()]);
    const through = openLog(`esdb://127.0.0.1:${await startFreezingProxy(Number(new URL(url).port))}?tls=false`);
    afterTest(through.close);
    const refused = errorKind(through.append('item-platform.a', 'none', [happened()], { deadline: 1_000 }));
    assert.is(await Promise.race([refused, pause(8_000).then(() => 'no answer')]), 'unavailable');
  }));

test("while the disk of the event store is full, an append fails as 'unavailable'; when there is space again, it succeeds", async () => {
  if (process.platform !== 'linux') return;
  const store = await startStore();
  const log = openLog(store.url);
  limitFileSize(store.pid, '1');
  assert.is(await errorKind(log.append('agent-t.full', 'none', [happened()], { deadline: 300 })), 'unavailable');
  limitFileSize(store.pid, 'unlimited');
  assert.is((await log.append('agent-t.full', 'none', [happened()])).revision, 0);
  await log.close();
  await store.end();
});

/** Follows the log through a real client. `event` gets each event, and a function that breaks the subscription. */
const followBreakable = (client: EventStoreDBClient, event: (recorded: Recorded, breakOff: () => void) => void | Promise<void>) => {
  let breakOff = (): void => {};
  const watched = Object.create(client, {
    subscribeToAll: {
      value: (...options: Parameters<EventStoreDBClient['subscribeToAll']>) => {
        const subscription = client.subscribeToAll(...options);
        // Do not cancel the call when the subscription breaks: the events that it has already received must still be
        // delivered.
        const { unsubscribe } = subscription;
        afterTest(() => unsubscribe.call(subscription));
        subscription.unsubscribe = async () => {};
        breakOff = () =>
          void subscription.emit('error', new UnavailableError(Object.assign(new Error('x'), { metadata: undefined }) as never));
        return subscription;
      },
    },
  });
  return follow(() => watched, {
    filter: { streamPrefixes: ['item-platform.'] },
    event: (recorded) => event(recorded, () => breakOff()),
  });
};

test('if the subscription of a follower breaks and is re-established, the follower still gets every event once, in order, one at a time', () =>
  withLog(async (log, url) => {
    const many = Array.from({ length: 20 }, () => happened());
    await log.append('item-platform.many', 'none', many);
    // The follower's filter excludes these streams, so the follower gets only checkpoints for their events.
    for (let n = 0; n < 3; n++)
      await log.append(
        `other-platform.${n}`,
        'none',
        Array.from({ length: 500 }, () => happened()),
      );
    const client = EventStoreDBClient.connectionString(url as never);
    afterTest(() => client.dispose());
    for (const isSlow of [false, true])
      for (const at of [1, 10, 18, 19]) {
        const seen: number[] = [];
        let inProgress = 0;
        const following = followBreakable(client, ({ revision }, breakOff) => {
          if (!seen.includes(revision) && revision === at) isSlow ? setTimeout(breakOff, 20) : queueMicrotask(breakOff);
          seen.push(revision);
          assert.is(inProgress, 0);
          if (!isSlow) return;
          inProgress++;
          return pause(revision === at ? 300 : 0).then(() => void inProgress--);
        });
        for (let waited = 0; seen.at(-1) !== 19 && waited < 100; waited++) await pause(50);
        await following.stop();
        assert.equal(
          seen,
          many.map((_, revision) => revision),
          `broken at ${at}`,
        );
      }
  }));

type Seen = { ids: Map<string, number>; positions: Position[] };

test('while the event store is killed repeatedly, sixteen writers and a follower neither lose nor duplicate an event', async () => {
  const port = await freePort();
  let store = await startStore({ dir: storeDir(), port });
  const log = openLog(store.url);
  afterTest(log.close);
  const acknowledged = new Map<string, string>();
  const seen: Seen = { ids: new Map(), positions: [] };
  let running = true;
  afterTest(() => {
    running = false;
  });
  let refused = 0;
  const following = log.follow({
    filter: { streamPrefixes: ['kill-'] },
    event: ({ event_id, position }) => {
      seen.ids.set(event_id, (seen.ids.get(event_id) ?? 0) + 1);
      seen.positions.push(position);
    },
  });
  const write = async (stream: string): Promise<void> => {
    for (let revision = -1; running; ) {
      const event = happened();
      const appended = await log.append(stream, revision < 0 ? 'none' : revision, [event], { deadline: 20_000 }).catch(() => null);
      if (!appended) return void refused++;
      acknowledged.set(event.id, `${stream}@${appended.revision}`);
      revision = appended.revision;
    }
  };
  const writers = Array.from({ length: 16 }, (_, number) => write(`kill-platform.${number}`));
  for (let kill = 0; kill < 4; kill++) {
    await pause(400 + Math.random() * 400);
    await store.end('SIGKILL');
    store = await startStore({ dir: store.dir, port });
  }
  // On a busy machine, the last start of the store takes so long that little was written before.
  for (const isOver = deadline(20_000); acknowledged.size <= 100 && refused === 0 && !isOver(); ) await pause(50);
  running = false;
  await Promise.all(writers);
  const stored = new Map<string, string>();
  for await (const event of log.readAll()) stored.set(event.event_id, `${event.stream}@${event.revision}`);
  for (let waited = 0; seen.ids.size < stored.size && waited < 200; waited++) await pause(50);
  await following.stop();
  assert.is(refused, 0);
  assert.ok(acknowledged.size > 100, `${acknowledged.size} acknowledged`);
  for (const [id, revision] of acknowledged) assert.is(stored.get(id), revision);
  assert.is(stored.size, acknowledged.size);
  assert.equal([...seen.ids.keys()].sort(), [...stored.keys()].sort());
  assert.ok([...seen.ids.values()].every((times) => times === 1));
  await log.close();
  await store.end();
});

test("if the event store does not answer for five seconds, a read fails as 'unavailable'; when the store answers again, reads succeed", async () => {
  const store = await startStore();
  const log = openLog(store.url);
  afterTest(log.close);
  const first = await log.append('agent-t.a', 'none', [happened()]);
  process.kill(store.pid, 'SIGSTOP');
  const startedAt = performance.now();
  const kinds = await Promise.all(
    [Array.fromAsync(log.read('agent-t.a')), log.last('agent-t.a'), Array.fromAsync(log.readAll())].map((reading: Promise<unknown>) =>
      reading.then(
        () => 'success',
        (error: LogError) => error.kind,
      ),
    ),
  );
  const took = performance.now() - startedAt;
  process.kill(store.pid, 'SIGCONT');
  assert.equal(kinds, ['unavailable', 'unavailable', 'unavailable']);
  assert.ok(took < 15_000, `${took} ms`);
  assert.is((await log.last('agent-t.a'))?.revision, first.revision);
  assert.is((await Array.fromAsync(log.read('agent-t.a'))).length, 1);
  await log.close();
  await store.end();
});

test.run();
