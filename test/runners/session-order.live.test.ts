import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { areAcknowledged, cloudEvent, consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

/** Publishes the event with this number as a message of a session. `previous` is the number of the one before it. */
const say = (nats: NatsConnection, index: number, session: string, previous?: number): Promise<void> => {
  const order = previous === undefined ? {} : { previous: eventIdOf(previous) };
  return publish(nats, index, { ...cloudEvent(index, { data: {} }), session, ...order });
};

const RECORD = 'echo $ANNALS_EVENT_ID $ANNALS_ATTEMPT >> out';
const lineOf = (index: number, attempt = 1): string => `${eventIdOf(index)} ${attempt}`;

test(
  'messages of a session are processed in their order, even if the first one fails; other messages overtake them',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    await say(nats, 0, 's');
    await say(nats, 1, 's', 0);
    await say(nats, 2, 's', 1);
    await say(nats, 3, 'another');
    await publish(nats, 4);
    const fail = `test $ANNALS_EVENT_ID$ANNALS_ATTEMPT = ${eventIdOf(0)}1 && exit 1`;
    const stop = start(`${fail}; test $ANNALS_EVENT_ID = ${eventIdOf(1)} && sleep 0.3; ${RECORD}`, { concurrency: 4 });
    await waitUntil(() => areAcknowledged(nats, 5));
    await stop();
    assert.equal(lines().slice(0, 2).sort(), [lineOf(3), lineOf(4)].sort());
    assert.equal(lines().slice(2), [lineOf(0, 2), lineOf(1), lineOf(2)]);
  }),
);

test(
  'a message whose predecessor another runner has waits without a further attempt, until the service says that it is settled',
  withRunnerTest({ ackWaitMs: 1_500 }, async ({ nats, start, lines, service }) => {
    await say(nats, 1, 's', 0);
    await publish(nats, 2);
    const stop = start(RECORD, { progressMs: 300 });
    await waitUntil(() => lines().length === 1);
    await sleep(3_500);
    assert.equal(lines(), [lineOf(2)], 'it does not occupy the only worker');
    service.settled.add(eventIdOf(0));
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.equal(lines(), [lineOf(2), lineOf(1)]);
    await stop();
  }),
);

test(
  'a runner that ends gives the messages that wait back to the broker',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
    await say(nats, 1, 's', 0);
    const stop = start(RECORD);
    await waitUntil(async () => (await consumerInfo(nats)).num_ack_pending === 1);
    await stop();
    service.settled.add(eventIdOf(0));
    start(RECORD);
    await waitUntil(() => areAcknowledged(nats, 1));
    assert.equal(lines(), [lineOf(1, 2)], 'it does not wait until the acknowledgement timeout is over');
  }),
);

test.run();
