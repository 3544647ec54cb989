// limit: 240

import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { type ConsumerLimits, ensureConsumer, manager, NOTICES, STREAM } from '../../infra/nats/jetstream.ts';
import { startAcknowledgements } from '../../infra/reactors/record-acknowledgements.ts';
import { startRelay } from '../../infra/reactors/relay.ts';
import { acceptedLog, agentOf, deliveryOf, eventIdOf, TENANT } from '../fixtures/generated-log.ts';
import { until, withBroker } from '../fixtures/nats-server.ts';
import { afterwards, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });
const now = () => new Date().toISOString();
const AGENT = agentOf(0);
const reactor = (log: Log, nats: NatsConnection) => {
  const taking = startAcknowledgements({ log, nats, logger, everyMs: 1_000 });
  afterwards(taking.close);
  return taking;
};

const relaying = async (log: Log, nats: NatsConnection) => {
  const relay = await startRelay({ log, nats, logger, publicUrl: 'http://127.0.0.1' });
  afterwards(relay.close);
  return relay;
};

const settledIn = async (log: Log, agent = AGENT): Promise<{ acknowledged: string[]; dead: string[] }> => {
  const acknowledged: string[] = [];
  const dead: string[] = [];
  for await (const event of log.read(`acknowledgement-${TENANT}.${agent}`)) {
    const { type, data } = event as Recorded<Acknowledgement.AcknowledgementEvent>;
    if (type === 'DeliveriesAcknowledged') acknowledged.push(...data.deliveries.map(({ delivery_id }) => delivery_id));
    else dead.push(data.delivery_id);
  }
  return { acknowledged, dead };
};

/** How many deliveries the log knows as acknowledged. */
const distinct = async (log: Log): Promise<number> => new Set((await settledIn(log)).acknowledged).size;

/** A stream with so many deliveries, every third of them AGENT's, and AGENT's consumer. */
const filled = async (nats: NatsConnection, count: number, limits: ConsumerLimits = {}) => {
  const log = await acceptedLog(count, now());
  const relay = await relaying(log, nats);
  await until(() => relay.status().published === count);
  await relay.close();
  await ensureConsumer(nats, TENANT, AGENT, limits);
  return log;
};

const mine = (count: number): string[] => Array.from({ length: Math.ceil(count / 3) }, (_, index) => deliveryOf(index * 3));

/** Takes so many messages of AGENT's and says a word to each. */
const settle = async (nats: NatsConnection, count: number, word: 'ack' | 'nak' | 'term'): Promise<void> => {
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
  for (let taken = 0; taken < count; )
    for await (const message of await consumer.fetch({ max_messages: count - taken, expires: 2_000 })) {
      message[word]();
      taken++;
    }
  await nats.flush();
};

test('notices that the stream holds already are not taken in again', () => {
  const notice = (sequence: number, outcome: Acknowledgement.Advisory['outcome'] = 'acknowledged') => ({
    delivery_id: deliveryOf(sequence),
    event_id: eventIdOf(sequence),
    at: '2026-01-01T00:00:00.000Z',
    attempts: 1,
    sequence,
    outcome,
  });
  const notices = [notice(3), notice(4, 'terminated'), notice(5)];
  const [acknowledged, dead] = Acknowledgement.recordAdvisories('e', notices)({ capture: { epoch: 'e', sequence: 3 } });
  assert.equal(acknowledged?.type === 'DeliveriesAcknowledged' && acknowledged.data.deliveries.map(({ delivery_id }) => delivery_id), [
    deliveryOf(5),
  ]);
  assert.equal(dead?.type === 'DeliveryDeadLettered' && [dead.data.delivery_id, dead.data.reason], [deliveryOf(4), 'terminated']);
  assert.equal(Acknowledgement.recordAdvisories('e', notices)({ capture: { epoch: 'e', sequence: 5 } }), []);
  assert.is(Acknowledgement.recordAdvisories('another', notices)({ capture: { epoch: 'e', sequence: 5 } }).length, 2);
});

test(
  'what runners acknowledge, give up and let lapse comes back into the log once, with two reactors and their restarts',
  withBroker(async (broker) => {
    const nats = await broker.connect();
    const log = await filled(nats, 300, { maxDeliveries: 1, ackWaitMs: 500 });
    const other = await broker.connect();
    let reactors = [reactor(log, nats), reactor(log, other)];
    for (let round = 0; round < 3; round++) {
      await settle(nats, 25, 'ack');
      await Promise.all(reactors.map((each) => each.close()));
      reactors = [reactor(log, nats), reactor(log, other)];
    }
    await settle(nats, 10, 'term');
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
    for await (const _ of await consumer.fetch({ max_messages: 5, expires: 1_000 }));
    // The server tells that a message has lapsed when somebody asks for the next one.
    await until(async () => {
      for await (const message of await consumer.fetch({ max_messages: 1, expires: 1_000 })) message.ack();
      const { acknowledged, dead } = await settledIn(log);
      return acknowledged.length + dead.length >= 100;
    });
    await Promise.all(reactors.map((each) => each.close()));
    const { acknowledged, dead } = await settledIn(log);
    assert.equal([...acknowledged, ...dead].sort(), mine(300).sort());
    assert.is(dead.length, 15);
    await until(async () => (await (await manager(nats)).streams.info(NOTICES)).state.messages === 0);
  }),
);

test(
  'what was acknowledged in a stream that has been made anew since is no acknowledgement of what stands in that place now',
  withBroker(async (broker) => {
    const nats = await broker.connect();
    const log = await filled(nats, 30);
    await settle(nats, 5, 'ack');
    const { streams } = await manager(nats);
    const noticed = async (): Promise<number> => (await streams.info(NOTICES)).state.messages;
    await until(async () => (await noticed()) === 5);
    await streams.delete(STREAM);
    const relay = await relaying(log, nats);
    await until(() => relay.status().published === 30);
    const running = reactor(log, nats);
    await until(async () => (await noticed()) === 0);
    assert.equal(await settledIn(log), { acknowledged: [], dead: [] });
    await running.close();
    await relay.close();
  }),
);

test(
  'acknowledgements survive an outage of the log and of the broker, and a stream that is filled again leaves them out',
  withBroker(async (broker) => {
    const nats = await broker.connect();
    const log = await filled(nats, 300);
    const back = log.outage();
    const running = reactor(log, nats);
    await settle(nats, 60, 'ack');
    await new Promise((resolve) => setTimeout(resolve, 800));
    back();
    await until(async () => (await settledIn(log)).acknowledged.length === 60);
    await broker.kill();
    await broker.start();
    await until(() => ensureConsumer(nats, TENANT, AGENT).then(Boolean, () => false));
    let had = 60;
    // A broker that was killed may hand out again what it had not written down as acknowledged: that adds nothing to the log's deliveries.
    for (; had < 70; had = await distinct(log)) {
      await settle(nats, 70 - had, 'ack');
      await until(async () => (await distinct(log)) >= 70, 4_000).catch(() => {});
    }
    await (await manager(nats)).streams.delete(STREAM);
    const relay = await relaying(log, nats);
    await until(async () => relay.status().published >= 300 - had);
    assert.is((await (await manager(nats)).streams.info(STREAM)).state.messages, 300 - had);
    await ensureConsumer(nats, TENANT, AGENT);
    await settle(nats, 100 - had, 'ack');
    await until(async () => (await distinct(log)) === 100);
    assert.equal([...new Set((await settledIn(log)).acknowledged)].sort(), mine(300).sort());
    await relay.close();
    await running.close();
  }),
);

test.run();
