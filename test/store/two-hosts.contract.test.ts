import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Metadata, Recorded } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { type Log, LogError, type NewEvent } from '../../infra/eventstore/event-log.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { serveHere, twoHosts } from '../fixtures/two-hosts.ts';

const meta: Metadata = { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
const happened = (bytes = 1): NewEvent => ({ id: randomUUID(), type: 'Happened', data: new Uint8Array(bytes), meta });
const newStream = (): string => `item-platform.${randomUUID()}`;
const appendOne = (log: Log, deadline = 5_000) => log.append(newStream(), 'none', [happened()], { deadline });

const kindOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error) => (error instanceof LogError ? error.kind : `not a LogError: ${error}`),
  );

const open = (url: string): Log => {
  const log = openLog(url);
  afterTest(log.close);
  return log;
};

/** Collects the errors that would end a process of the platform, until the test ends. */
const collectUnhandled = (): string[] => {
  const found: string[] = [];
  const collect = (error: unknown): void => void found.push(String(error));
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, collect);
    afterTest(() => process.off(event, collect));
  }
  return found;
};

const firstEvent = (log: Log): Promise<Recorded> =>
  new Promise((resolve) => {
    const subscription = log.follow({ event: resolve });
    afterTest(subscription.stop);
  });

/** Every way to call the log. Each fails while no host answers; an append fails after `deadline` milliseconds. */
const CALLS: Readonly<Record<string, (log: Log, deadline?: number) => Promise<unknown>>> = {
  append: appendOne,
  tombstone: (log) => log.tombstone(newStream()),
  truncate: (log) => log.truncate(newStream(), 1),
  read: (log) => Array.fromAsync(log.read(newStream())),
  last: (log) => log.last(newStream()),
  readAll: (log) => Array.fromAsync(log.readAll({ limit: 1 })),
  ping: (log) => log.ping(),
};

test('every call that failed because no host of the URL answered succeeds as soon as one of them does', async () => {
  const unhandled = collectUnhandled();
  const { url, serve } = await twoHosts();
  const logs = Object.entries(CALLS).map(([name, call]) => ({ name, call, log: open(url) }));
  const following = firstEvent(open(url));
  const failed = await Promise.all(logs.map(({ call, log }) => kindOf(call(log, 300))));
  assert.equal(
    failed,
    logs.map(() => 'unavailable'),
  );
  await serve(1);
  for (const { name, call, log } of logs) {
    assert.is(await kindOf(call(log)), 'ok', name);
    assert.is(await kindOf(appendOne(log)), 'ok', `an append after ${name}`);
  }
  assert.is((await following).type, 'Happened');
  assert.equal(unhandled, []);
});

test('when the store moves from one host of the URL to the other, no acknowledged event is lost and no process ends', async () => {
  const unhandled = collectUnhandled();
  const { url, serve } = await twoHosts();
  const log = open(url);
  const acknowledged = new Set<string>();
  const followed = new Set<string>();
  const subscription = log.follow({ event: ({ event_id }) => void followed.add(event_id) });
  afterTest(subscription.stop);
  let isRunning = true;
  const write = async (): Promise<void> => {
    while (isRunning) {
      const event = happened();
      await log.append(newStream(), 'none', [event], { deadline: 10_000 });
      acknowledged.add(event.id);
      await log.ping().catch(() => null);
      await sleep(5);
    }
  };
  const writers = Array.from({ length: 8 }, write);
  for (const host of [0, 1, 0] as const) {
    const store = await serve(host);
    await sleep(150 * loadFactor());
    await store.close();
    await sleep(150);
  }
  const store = await serve(1);
  isRunning = false;
  await Promise.all(writers);
  const stored = new Set((await Array.fromAsync(log.readAll())).map(({ event_id }) => event_id));
  for (let waited = 0; followed.size < stored.size && waited < 100; waited++) await sleep(20);
  assert.ok(acknowledged.size > 10, `${acknowledged.size} acknowledged`);
  assert.equal(
    [...acknowledged].filter((id) => !stored.has(id)),
    [],
  );
  assert.is(followed.size, stored.size);
  assert.equal(unhandled, []);
  await store.close();
});

const startProxy = async (port: number) => {
  const proxy = await startTcpProxy(`http://127.0.0.1:${port}`);
  afterTest(proxy.end);
  return { ...proxy, url: `esdb://127.0.0.1:${new URL(proxy.url).port}?tls=false` };
};

test('if the connection breaks while many appends wait for a slow store, all of them fail, and later ones succeed', async () => {
  const unhandled = collectUnhandled();
  const proxy = await startProxy((await serveHere()).port);
  const log = open(proxy.url);
  await appendOne(log);
  proxy.stall();
  const waiting = Array.from({ length: 60 }, () => kindOf(log.append(newStream(), 'none', [happened(50_000)], { retry: false })));
  await sleep(100);
  proxy.close();
  assert.equal([...new Set(await Promise.all(waiting))], ['unavailable']);
  proxy.open();
  proxy.stopStalling();
  assert.is(await kindOf(appendOne(log)), 'ok');
  assert.equal(unhandled, []);
});

test('an answer to an append that has already failed does not break the stream of later appends', async () => {
  const unhandled = collectUnhandled();
  const { port } = await serveHere();
  const proxies = [await startProxy(port), await startProxy(port)] as const;
  const [broken, slow] = [open(proxies[0].url), open(proxies[1].url)];
  await Promise.all([appendOne(broken), appendOne(slow)]);
  proxies[1].stall();
  const waiting = kindOf(appendOne(slow));
  await sleep(50);
  proxies[0].close();
  await sleep(50);
  proxies[1].resume();
  assert.is(await waiting, 'ok');
  assert.is(await kindOf(appendOne(slow, 2_000)), 'ok');
  assert.equal(unhandled, []);
  proxies[1].close();
});

test('if a read is started later than it is created, its error reaches the caller', async () => {
  const unhandled = collectUnhandled();
  const { url } = await twoHosts();
  const events = open(url).read(newStream());
  await sleep(300);
  assert.is(await kindOf(Array.fromAsync(events)), 'unavailable');
  assert.equal(unhandled, []);
});

test('an error of a follower ends its subscription with that error, in whichever function it occurs', async () => {
  const unhandled = collectUnhandled();
  const log = open(`esdb://127.0.0.1:${(await serveHere()).port}?tls=false`);
  await appendOne(log);
  const fail = (): never => {
    throw new Error('the follower failed here');
  };
  const followers = [
    { event: fail },
    { event: async () => fail() },
    { event: () => {}, checkpoint: fail, filter: { streamPrefixes: ['none-'] } },
    { event: () => {}, checkpoint: async () => fail(), filter: { streamPrefixes: ['none-'] } },
    { event: () => {}, caughtUp: fail },
  ];
  const failures = followers.map((follower) => log.follow(follower).failure);
  await appendOne(log);
  for (const failure of failures) assert.is((await Promise.race([failure, sleep(2_000)]))?.message, 'the follower failed here');
  assert.equal(unhandled, []);
});

test.run();
