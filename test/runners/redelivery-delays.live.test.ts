import { type NatsConnection, nanos } from 'nats';
import * as assert from 'uvu/assert';
import { ACK_WAIT_MS, consumerName, MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { ensureConsumer, ensureInbound, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { TENANT } from '../fixtures/generated-log.ts';
import { withNatsServer } from '../fixtures/nats-server.ts';
import { AGENT, publish } from '../fixtures/runner-test.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

/**
 * Receives a message `count` times, and calls `refuse` with the message each time.
 * @returns the milliseconds between the deliveries of the message
 */
const delaysOf = async (
  nats: NatsConnection,
  count: number,
  refuse: (message: { nak: (ms: number) => void }) => void,
): Promise<number[]> => {
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
  const times: number[] = [];
  for (let attempt = 1; attempt <= count; attempt++) {
    const message = await consumer.next({ expires: 10_000 });
    assert.is(message?.info.redeliveryCount, attempt);
    times.push(Date.now());
    refuse(message!);
  }
  assert.is(await consumer.next({ expires: 1_500 }), null, 'the message is given up');
  return times.slice(1).map((at, index) => at - times[index]!);
};

test(
  'the broker waits 30 s for each acknowledgement; a consumer that was created with a delay for each attempt is updated to this',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    const { config } = await ensureConsumer(nats, TENANT, AGENT);
    assert.equal([config.ack_wait, config.max_deliver, config.backoff ?? []], [nanos(ACK_WAIT_MS), MAX_DELIVERY_ATTEMPTS, []]);
    const { consumers } = await manager(nats);
    await consumers.update(STREAM, consumerName(AGENT), { backoff: [30_000, 60_000].map(nanos) });
    await ensureConsumer(nats, TENANT, AGENT);
    assert.equal((await consumers.info(STREAM, consumerName(AGENT))).config, config);
  }),
);

test(
  'a message that no runner acknowledges is delivered again after the acknowledgement timeout, until it is given up',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    await ensureConsumer(nats, TENANT, AGENT, { ackWaitMs: 500, maxDeliveries: 4 });
    await publish(nats, 0);
    const delays = await delaysOf(nats, 4, () => {});
    for (const delay of delays) assert.ok(delay >= 450 && delay < 5_000, `the delays are ${delays} ms`);
  }),
);

test(
  'a message with a negative acknowledgement is delivered again after the delay that the runner chooses, even after many attempts',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    await ensureConsumer(nats, TENANT, AGENT);
    await publish(nats, 0);
    const delays = await delaysOf(nats, MAX_DELIVERY_ATTEMPTS, (message) => message.nak(300));
    for (const delay of delays) assert.ok(delay >= 250 && delay < 5_000, `the delays are ${delays} ms`);
  }),
);

test.run();
