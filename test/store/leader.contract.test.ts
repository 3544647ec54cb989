import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Metadata, Recorded } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log, NewEvent } from '../../infra/eventstore/event-log.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { startFollowerFront } from '../fixtures/follower-front.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { serveHere } from '../fixtures/two-hosts.ts';

const meta: Metadata = { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 };
const happened = (): NewEvent => ({ id: randomUUID(), type: 'Happened', data: {}, meta });
const STREAM = `item-platform.${randomUUID()}`;

const open = (url: string): Log => {
  const log = openLog(url);
  afterTest(log.close);
  return log;
};

const firstEvent = (log: Log): Promise<Recorded> =>
  new Promise((resolve) => {
    const subscription = log.follow({ event: resolve });
    afterTest(subscription.stop);
  });

/** Starts a leader with one event and a follower that lacks it. `hosts` leads a client to the follower. */
const startCluster = async () => {
  const [leader, copy] = await Promise.all([serveHere(), serveHere()]);
  const follower = await startFollowerFront(copy.port, leader.port);
  await open(`esdb://127.0.0.1:${leader.port}?tls=false`).append(STREAM, 'none', [happened()]);
  return { hosts: `127.0.0.1:${follower.port},127.0.0.1:${await freePort()}`, follower: `127.0.0.1:${follower.port}` };
};

/** An event that is appended again after an attempt whose answer was lost. */
const AGAIN = happened();
const PATIENCE = { deadline: 20_000 };

/**
 * Every way to call the log. Each returns true if the leader answered. The last two write system events: after one of
 * them, `ping` would find no event of the platform at the end of the log.
 */
const CALLS: Readonly<Record<string, (log: Log) => Promise<boolean>>> = {
  append: async (log) => (await log.append(STREAM, 0, [AGAIN], PATIENCE)).revision === 1,
  'append without retry': async (log) => (await log.append(`${STREAM}x`, 'none', [AGAIN], { ...PATIENCE, retry: false })).revision === 0,
  read: async (log) => (await Array.fromAsync(log.read(STREAM))).length > 0,
  last: async (log) => (await log.last(STREAM)) !== null,
  readAll: async (log) => (await Array.fromAsync(log.readAll({ limit: 1 }))).length > 0,
  ping: async (log) => (await log.ping()) !== null,
  follow: async (log) => (await firstEvent(log)).type === 'Happened',
  truncate: (log) => log.truncate(`${STREAM}z`, 1).then(() => true),
  tombstone: (log) => log.tombstone(`${STREAM}y`).then(() => true),
};

/** Repeats a call that fails while the client connects to the leader. Returns false if the leader does not answer. */
const isAnswered = async (call: () => Promise<boolean>): Promise<boolean> => {
  const timeout = sleep(20_000 * loadFactor(), false, { ref: false });
  for (let tries = 1; tries <= 10; tries++) {
    const answer = await Promise.race([call().catch(() => null), timeout]);
    if (answer !== null) return answer;
    await sleep(100);
  }
  return false;
};

test('a client that is connected to a follower of the cluster reaches the leader with every call', async () => {
  const { hosts } = await startCluster();
  const answered: Record<string, boolean> = {};
  for (const [name, call] of Object.entries(CALLS)) {
    const log = open(`esdb://${hosts}?tls=false&maxDiscoverAttempts=3&discoveryInterval=30`);
    answered[name] = await isAnswered(() => call(log));
  }
  assert.equal(answered, Object.fromEntries(Object.keys(CALLS).map((name) => [name, true])));
});

test('a URL of one node, or one that prefers followers, reads from the node that it leads to', async () => {
  const { hosts, follower } = await startCluster();
  for (const url of [`esdb://${follower}?tls=false`, `esdb://${hosts}?tls=false&nodePreference=follower`])
    assert.is(await open(url).last(STREAM), null, url);
});

test.run();
