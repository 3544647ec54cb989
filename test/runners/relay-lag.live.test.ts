import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { type Relay, startRelay } from '../../infra/relay/relay.ts';
import { createRelayLag, type RelayLag } from '../../infra/relay/relay-lag.ts';
import { appendDeliveries, createDeliveryLog } from '../fixtures/generated-log.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { openUnsealed } from '../fixtures/open-unsealed.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });
const AGE_SECONDS = 100;
const now = (): string => new Date().toISOString();
const longAgo = (): string => new Date(Date.now() - AGE_SECONDS * 1_000).toISOString();

const startTestRelay = async (log: Log, nats: NatsConnection): Promise<Relay> => {
  const relay = await startRelay({ log, nats, logger, publicUrl: 'https://annals.test', openEvent: openUnsealed });
  afterTest(relay.close);
  return relay;
};

/** Waits until the relay is behind by this number of events. @returns the age of the oldest of them */
const lagOf = async (lag: () => Promise<RelayLag | null>, events: number): Promise<number> => {
  let found: RelayLag | null = null;
  await waitUntil(async () => {
    found = await lag();
    return found?.events === events;
  });
  return (found as RelayLag | null)!.seconds;
};

test(
  'the lag of the relay contains the number of unpublished events and the age of the oldest one, even while the broker is down',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await createDeliveryLog(5, now());
    const relay = await startTestRelay(log, nats);
    const ownLag = createRelayLag({ log, nats: () => nats, relay: () => relay });
    assert.is(await lagOf(ownLag, 0), 0);
    await broker.kill();
    await appendDeliveries(log, 5, 6, longAgo());
    await appendDeliveries(log, 6, 8, now());
    const seconds = await lagOf(ownLag, 3);
    assert.ok(seconds >= AGE_SECONDS && seconds < AGE_SECONDS + 60, `${seconds} s`);
    await appendDeliveries(log, 8, 9, now());
    await lagOf(ownLag, 4);
    await broker.start();
    assert.is(await lagOf(ownLag, 0), 0);
    await appendDeliveries(log, 9, 10, now());
    await lagOf(ownLag, 0);
  }),
);

test(
  "a process that does not run the relay derives the lag of the relay from the last message in the broker's stream",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await createDeliveryLog(3, now());
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().published === 3);
    await relay.close();
    await appendDeliveries(log, 3, 5, longAgo());
    const lag = createRelayLag({ log, nats: () => nats, relay: () => undefined });
    assert.ok((await lagOf(lag, 2)) >= AGE_SECONDS);
    const unconnected = createRelayLag({ log, nats: () => undefined, relay: () => undefined });
    assert.is(await unconnected(), null);
  }),
);

test.run();
