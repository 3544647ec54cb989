import { nanos } from 'nats';
import * as assert from 'uvu/assert';
import { ACK_WAITS_MS, consumerName, MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { ensureConsumer, ensureInbound, STREAM } from '../../infra/nats/jetstream.ts';
import { TENANT } from '../fixtures/generated-log.ts';
import { withNatsServer } from '../fixtures/nats-server.ts';
import { AGENT, publish } from '../fixtures/runner-test.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const MINUTE_MS = 60_000;

test(
  'the broker waits 30 s for the first acknowledgement of a message, then up to 5 minutes, and gives it up within 30 minutes',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    const { config } = await ensureConsumer(nats, TENANT, AGENT);
    assert.equal(config.backoff, ACK_WAITS_MS.map(nanos));
    assert.equal([config.ack_wait, config.max_deliver], [nanos(30_000), MAX_DELIVERY_ATTEMPTS]);
    const untilGivenUp = Array.from({ length: MAX_DELIVERY_ATTEMPTS }, (_, attempt) => ACK_WAITS_MS[attempt] ?? ACK_WAITS_MS.at(-1)!);
    const total = untilGivenUp.reduce((sum, ms) => sum + ms);
    assert.ok(total > 20 * MINUTE_MS && total <= 30 * MINUTE_MS, `${total / MINUTE_MS} minutes`);
    assert.equal(
      ACK_WAITS_MS.toSorted((a, b) => a - b),
      ACK_WAITS_MS,
    );
  }),
);

test(
  'a message that no runner answers comes again after the delay of each attempt in turn, until it is given up',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await ensureInbound(nats);
    const waits = [400, 1_200, 2_000];
    await ensureConsumer(nats, TENANT, AGENT, { ackWaitMs: waits, maxDeliveries: 4 });
    await publish(nats, 0);
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
    const times: number[] = [];
    for (let message = await consumer.next({ expires: 5_000 }); message; message = await consumer.next({ expires: 5_000 })) {
      assert.is(message.info.redeliveryCount, times.length + 1);
      times.push(Date.now());
    }
    const delays = times.slice(1).map((at, index) => at - times[index]!);
    assert.is(delays.length, 3);
    for (const [index, wait] of waits.entries())
      assert.ok(delays[index]! >= wait - 50 && delays[index]! < wait + 1_500, `the delays are ${delays} ms`);
  }),
);

test.run();
