// limit: 240 s for this file (test/run.ts)
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { ensureInbound, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { type Relay, startRelay } from '../../infra/relay/relay.ts';
import { agentOf, appendDeliveries, createDeliveryLog, deliveryOf, eventIdOf, requeuedIdOf, TENANT } from '../fixtures/generated-log.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { type NatsServer, waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { openUnsealed } from '../fixtures/open-unsealed.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });
const now = () => new Date().toISOString();

const startTestRelay = async (log: Log, nats: NatsConnection): Promise<Relay> => {
  const relay = await startRelay({ log, nats, logger, publicUrl: 'https://annals.test', openEvent: openUnsealed });
  afterTest(relay.close);
  return relay;
};

/** Returns the event ids of the messages in the NATS stream, in stream order. */
const publishedIds = async (nats: NatsConnection): Promise<string[]> => {
  const { streams, consumers } = await manager(nats);
  const { state } = await streams.info(STREAM);
  if (state.messages === 0) return [];
  const { name } = await consumers.add(STREAM, { ack_policy: 'none' as never, deliver_policy: 'all' as never, inactive_threshold: 5e9 });
  const expires = Math.round(10_000 * loadFactor());
  const messages = await (await nats.jetstream().consumers.get(STREAM, name)).fetch({ max_messages: state.messages, expires });
  const ids: string[] = [];
  for await (const message of messages) ids.push(message.headers!.get('Nats-Msg-Id'));
  return ids;
};

/** Returns the ids of the log's events from index `from` (inclusive) to index `count` (exclusive). */
const ids = (count: number, from = 0): string[] => Array.from({ length: count - from }, (_, index) => eventIdOf(from + index));

/** Compares the published ids with the expected ones. On failure, reports their number and the first difference. */
const assertPublished = async (nats: NatsConnection, expected: readonly string[]): Promise<void> => {
  const found = await publishedIds(nats);
  const firstWrong = found.findIndex((id, index) => id !== expected[index]);
  assert.equal({ length: found.length, firstWrong }, { length: expected.length, firstWrong: -1 });
};

const lastSequence = async (nats: NatsConnection): Promise<number> =>
  (await manager(nats)).streams.info(STREAM).then(
    ({ state }) => state.last_seq,
    () => 0,
  );

test(
  'the relay publishes a delivery as a CloudEvent with the received bytes or, if the body is large, with its URL',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    const binary = Buffer.from([0xff, 0, 1]);
    const bodies = [
      { bytes: Buffer.from('{"b" : [1,  2.0],"delivery_id":"another"}'), type: 'application/json; charset=utf-8' },
      { bytes: Buffer.from('{broken'), type: 'application/json' },
      { bytes: binary, type: 'application/octet-stream' },
      { bytes: Buffer.from(`{"large":"${'x'.repeat(70_000)}"}`), type: 'application/json' },
    ];
    await appendDeliveries(log, 0, 4, now(), (index) => bodies[index]!);
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().published === 4);
    const { streams } = await manager(nats);
    const [json, broken, bytes, large] = await Promise.all([1, 2, 3, 4].map((seq) => streams.getMessage(STREAM, { seq })));
    assert.is(json!.subject, `agents.${TENANT}.${agentOf(0)}.inbound`);
    assert.ok(json!.string().endsWith(`,"data":{"b" : [1,  2.0],"delivery_id":"another"}}`));
    const { data, source, time, ...attributes } = JSON.parse(json!.string());
    assert.equal(data, { b: [1, 2], delivery_id: 'another' });
    assert.equal(attributes, {
      specversion: '1.0',
      id: eventIdOf(0),
      type: 'annals.webhook.accepted',
      subject: deliveryOf(0),
      datacontenttype: 'application/json; charset=utf-8',
      tenant: TENANT,
      agent: agentOf(0),
      integration: source.split('/').at(-1),
      provider: 'github',
      providerevent: 'push',
      deliveryid: deliveryOf(0),
      providerid: 'd-0',
      contenttrust: 'untrusted',
    });
    assert.is(JSON.parse(broken!.string()).data_base64, Buffer.from('{broken').toString('base64'));
    assert.is(JSON.parse(bytes!.string()).data_base64, binary.toString('base64'));
    assert.is(JSON.parse(large!.string()).dataref, `https://annals.test/tenant/${TENANT}/deliveries/${deliveryOf(3)}/body`);
    assert.match(json!.header.get('Annals-Position'), /^\d+:\d+$/);
    await relay.close();
  }),
);

const relayProcess = (broker: NatsServer, count: number, at: string, requeues = 0) => {
  const { natsUrl: NATS_URL, natsAccountSeed: NATS_ACCOUNT_SEED } = broker.address;
  const child = spawn(process.execPath, [join(import.meta.dirname, '../fixtures/relay-process.ts'), String(count), at, String(requeues)], {
    env: { ...process.env, NATS_URL, NATS_ACCOUNT_SEED },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const relaying = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  const kill = (): Promise<void> => {
    child.kill('SIGKILL');
    return exited;
  };
  afterTest(kill);
  return { relaying: Promise.race([relaying, exited]), kill };
};

test(
  'if relays are killed at arbitrary moments, every message is published once and in order',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const [count, at] = [12_000, now()];
    for (let kills = 0; kills < 5; kills++) {
      const relay = relayProcess(broker, count, at);
      await relay.relaying;
      await sleep(Math.random() * 120);
      await relay.kill();
    }
    const last = relayProcess(broker, count, at);
    await waitUntil(async () => (await lastSequence(nats)) >= count);
    await last.kill();
    await assertPublished(nats, ids(count));
  }),
);

test(
  'if relays are killed at arbitrary moments, every redelivery is published once, after the deliveries',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const [count, at] = [2_000, now()];
    const published = [...ids(count), ...Array.from({ length: count }, (_, index) => requeuedIdOf(index))];
    const killRelay = async (moment: () => Promise<unknown>): Promise<void> => {
      const relay = relayProcess(broker, count, at, count);
      await relay.relaying;
      await moment();
      await relay.kill();
    };
    // Limit the size of the stream, so that it becomes full, and each relay is killed while it publishes redeliveries.
    await ensureInbound(nats);
    const { streams } = await manager(nats);
    const { config } = await streams.info(STREAM);
    for (const part of [0.25, 0.5, 0.75]) {
      const limit = count * (1 + part);
      await streams.update(STREAM, { ...config, max_msgs: limit });
      await killRelay(() => waitUntil(async () => (await lastSequence(nats)) >= limit));
    }
    await streams.update(STREAM, { ...config, max_msgs: -1 });
    for (let kills = 0; kills < 5; kills++) await killRelay(() => sleep(Math.random() * 60));
    const last = relayProcess(broker, count, at, count);
    await waitUntil(async () => (await lastSequence(nats)) >= 2 * count);
    await last.kill();
    await assertPublished(nats, published);
  }),
);

test(
  'two relays that start on an empty NATS stream publish no message twice and keep the order of the log',
  withNatsServer(async (broker) => {
    for (let round = 0; round < 5; round++) {
      const pair = [await broker.connect(), await broker.connect()] as const;
      const log = await createDeliveryLog(1_500, now());
      const relays = await Promise.all(pair.map((nats) => startTestRelay(log, nats)));
      for (let batch = 0; batch < 20; batch++) {
        await appendDeliveries(log, 1_500 + batch * 25, 1_525 + batch * 25, now());
        await sleep(10);
      }
      await waitUntil(async () => (await lastSequence(pair[0])) >= 2_000);
      await sleep(100);
      await Promise.all(relays.map((relay) => relay.close()));
      await assertPublished(pair[0], ids(2_000));
      await (await manager(pair[0])).streams.delete(STREAM);
    }
  }),
);

test(
  'if the NATS stream contains messages of another log, the relay reports this, and publishes nothing until that NATS stream is deleted',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const first = await startTestRelay(await createDeliveryLog(50, now()), nats);
    await waitUntil(() => first.status().published === 50);
    await first.close();
    const relay = await startTestRelay(await createDeliveryLog(3, now()), nats);
    await waitUntil(() => /holds messages of another log/.test(relay.status().last_error ?? ''));
    await (await manager(nats)).streams.delete(STREAM);
    await waitUntil(() => relay.status().published === 3);
    await relay.close();
  }),
);

test(
  'if the NATS stream is full, the relay reports it as an error, and publishes the waiting messages when there is space again',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    const { streams } = await manager(nats);
    const { config } = await streams.info(STREAM);
    await streams.update(STREAM, { ...config, max_bytes: 100 });
    const log = await createDeliveryLog(50, now());
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().last_error === 'maximum bytes exceeded');
    await streams.update(STREAM, { ...config, max_bytes: -1 });
    await waitUntil(() => relay.status().published === 50);
    const { state } = await streams.info(STREAM);
    await streams.update(STREAM, { ...config, max_bytes: state.bytes + 1_000 });
    await appendDeliveries(log, 50, 100, now());
    await waitUntil(() => relay.status().last_error === 'maximum bytes exceeded');
    await streams.update(STREAM, { ...config, max_bytes: -1 });
    await waitUntil(async () => (await lastSequence(nats)) === 100);
    await relay.close();
    await assertPublished(nats, ids(100));
  }),
);

test(
  'deliveries that are accepted while NATS is killed or suspended are published once NATS works again',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await createDeliveryLog(500, now());
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().published >= 500);
    for (let round = 0; round < 3; round++) {
      await broker.kill();
      await appendDeliveries(log, 500 + round * 500, 1_000 + round * 500, now());
      await sleep(300);
      await broker.start();
      await waitUntil(async () => (await lastSequence(nats)) >= 1_000 + round * 500);
    }
    broker.freeze();
    await appendDeliveries(log, 2_000, 2_500, now());
    await sleep(1_000);
    broker.thaw();
    await waitUntil(async () => (await lastSequence(nats)) >= 2_500);
    await relay.close();
    await assertPublished(nats, ids(2_500));
  }),
);

test(
  'while NATS accepts no messages, the relay reads at most a few thousand messages ahead',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().state === 'relaying');
    broker.freeze();
    await appendDeliveries(log, 0, 12_000, now());
    let maxWaiting = 0;
    await waitUntil(() => {
      maxWaiting = Math.max(maxWaiting, relay.status().waiting);
      return relay.status().state === 'waiting';
    });
    assert.ok(maxWaiting < 8_000, String(maxWaiting));
    broker.thaw();
    await waitUntil(async () => (await lastSequence(nats)) >= 12_000);
    await relay.close();
    await assertPublished(nats, ids(12_000));
  }),
);

test(
  'if the NATS stream is deleted, the relay publishes again what was not acknowledged and has not expired',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    const old = new Date(Date.now() - 20 * 86_400_000).toISOString();
    await appendDeliveries(log, 0, 50, old);
    await appendDeliveries(log, 50, 100, now());
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().published === 50);
    const deliveries = [50, 51, 60].map((index) => ({
      delivery_id: deliveryOf(index),
      event_id: eventIdOf(index),
      at: now(),
      attempts: 1,
    }));
    const meta = { tenant: TENANT, actor: { kind: 'system', id: 'acknowledgements' }, at: now(), v: 1 } as const;
    const capture = { epoch: 'e', sequence: 3 };
    await log.append(`acknowledgement-${TENANT}.${agentOf(0)}`, 'none', [
      { id: crypto.randomUUID(), type: 'DeliveriesAcknowledged', data: { deliveries, capture }, meta },
    ]);
    await (await manager(nats)).streams.delete(STREAM);
    await waitUntil(async () => (await lastSequence(nats)) === 47);
    await assertPublished(
      nats,
      ids(100, 50).filter((id) => !deliveries.some(({ event_id }) => event_id === id)),
    );
    await relay.close();
  }),
);

test.run();
