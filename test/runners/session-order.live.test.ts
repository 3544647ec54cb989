import { setTimeout as sleep } from 'node:timers/promises';
import type { Msg, NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { consumerName, STREAM } from '../../domain/runners/runner-credential.ts';
import { apiClient } from '../../infra/runner/api-client.ts';
import { attemptsOf } from '../../infra/runner/cloud-event.ts';
import { type MessageConsumer, openMessages } from '../../infra/runner/message-consumer.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';
import { keepSessionOrder, type OrderedConsumer } from '../../infra/runner/session-order.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { deadline, loadFactor } from '../fixtures/load-factor.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { KEY } from '../fixtures/runner-service.ts';
import { AGENT, areAcknowledged, cloudEvent, consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Publishes the event with this number as a message of a session. `previous` is the number of the previous one. */
const say = (nats: NatsConnection, index: number, session: string, previous?: number): Promise<void> => {
  const order = previous === undefined ? {} : { previous: eventIdOf(previous) };
  return publish(nats, index, { ...cloudEvent(index, { data: {} }), session, ...order });
};

const RECORD = 'echo $ANNALS_EVENT_ID $ANNALS_ATTEMPT >> out';
const lineOf = (index: number, attempt = 1): string => `${eventIdOf(index)} ${attempt}`;

test(
  'messages of a session are processed in their order, even if the first one fails; other messages overtake them',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
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
    assert.not.ok(service.asked.has(eventIdOf(1)), 'the service is not asked about a message that the runner has');
  }),
);

test(
  'a message waits without a further attempt while another runner has its predecessor, until that one is settled',
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
  'a runner that ends returns the messages that wait to the broker',
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

const openAgentMessages = async (url: string): Promise<MessageConsumer> => {
  const api = apiClient({ url, key: KEY, outage: createOutageReport(() => {}, '') });
  const ending = new AbortController();
  afterTest(() => ending.abort());
  return openMessages(api, await api.find('triage'), () => {})(ending.signal);
};

/** Opens the messages of the agent as a runner does. After `kill`, the broker hears nothing more of this runner. */
const openMortal = async (url: string, settled: ReadonlySet<string>, ackWaitMs: number) => {
  const messages = await openAgentMessages(url);
  let isDead = false;
  const mortal: MessageConsumer = {
    ...messages,
    reportProgress: (message) => void (isDead || messages.reportProgress(message)),
    postpone: (message, delayMs) => void (isDead || messages.postpone(message, delayMs)),
    settle: async (message, ack) => void (isDead || (await messages.settle(message, ack))),
  };
  const findSettled = async (ids: readonly string[]): Promise<readonly string[]> => ids.filter((id) => settled.has(id));
  const processed = { has: () => false, add: () => {} };
  const ordered = keepSessionOrder(mortal, {
    processed,
    working: new Map(),
    findSettled,
    report: () => {},
    progressMs: ackWaitMs / 2,
  });
  const kill = (): Promise<void> => {
    isDead = true;
    return ordered.close();
  };
  afterTest(kill);
  return { ordered, kill };
};

/** Waits for the next message. Each request to the broker waits for a limited time. */
const nextMessage = async ({ pull }: OrderedConsumer): Promise<Msg> => {
  for (const isOver = deadline(30_000); !isOver(); ) {
    const message = await pull();
    if (message) return message;
  }
  throw new Error('no message is delivered');
};

const CRASHES = 14;
/** On a slow machine, fewer runners die, because each takes longer. */
const MAX_CRASHING_MS = 20_000;

test(
  'a message that waits is not given up although each of many runners dies soon after it has got the message',
  withRunnerTest({ ackWaitMs: 300 }, async ({ nats, service }) => {
    await say(nats, 1, 's', 0);
    const from = Date.now();
    for (let crash = 0; crash < CRASHES && Date.now() - from < MAX_CRASHING_MS; crash++) {
      const { ordered, kill } = await openMortal(service.url, service.settled, 300);
      void ordered.pull().catch(() => {});
      await sleep(400);
      await kill();
    }
    service.settled.add(eventIdOf(0));
    const { ordered } = await openMortal(service.url, service.settled, 300);
    const message = await nextMessage(ordered);
    await ordered.settle(message, '+ACK');
    await waitUntil(() => areAcknowledged(nats, 1));
    assert.ok(attemptsOf(message) <= 9, `it has been delivered ${attemptsOf(message)} times`);
  }),
);

test(
  'a message that was postponed while it waited is delivered again soon if the runner dies while a handler works on it',
  withRunnerTest({ ackWaitMs: 300 }, async ({ nats, service }) => {
    await say(nats, 1, 's', 0);
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
    for (let attempt = 1; attempt < 8; attempt++) (await consumer.next({ expires: 5_000 }))!.nak();
    const first = await openMortal(service.url, service.settled, 300);
    const pulled = nextMessage(first.ordered);
    await sleep(500);
    service.settled.add(eventIdOf(0));
    assert.is(attemptsOf(await pulled), 8);
    await first.kill();
    const again = await consumer.next({ expires: Math.round(5_000 * loadFactor()) });
    assert.is(again?.info.redeliveryCount, 9, 'without the progress report, it would be kept for 300 ms * 4^3');
    again!.ack();
  }),
);

test(
  'a message that was requested for a worker is returned at once if the worker has got a waiting one instead',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
    await say(nats, 1, 's', 0);
    start(`${RECORD}; until [ -e go ]; do sleep 0.1; done`);
    await waitUntil(async () => (await consumerInfo(nats)).num_ack_pending === 1);
    service.settled.add(eventIdOf(0));
    await waitUntil(() => lines().length === 1);
    await publish(nats, 2);
    start('touch go; echo $ANNALS_EVENT_ID >> out');
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.equal(lines(), [lineOf(1), eventIdOf(2)]);
  }),
);

for (const [kind, session] of [
  ['a session', { session: 's' }],
  ['no session', {}],
] as const)
  test(
    `a message of ${kind} that arrives again while a runner stops is not given back if the runner works on its event`,
    withRunnerTest({ ackWaitMs: 5_000 }, async ({ nats, service }) => {
      await publish(nats, 0, { ...cloudEvent(0), ...session });
      const messages = await openAgentMessages(service.url);
      const [arrived, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const pull: MessageConsumer['pull'] = async (onLate) => {
        const message = await messages.pull(onLate);
        if (message) arrived.resolve();
        await stopped.promise;
        return message;
      };
      const working = new Map<string, Msg>();
      const processed = { has: () => false, add: () => {} };
      const ordered = keepSessionOrder({ ...messages, pull }, { processed, working, findSettled: async () => [], report: () => {} });
      afterTest(ordered.close);
      void ordered.pull();
      await arrived.promise;
      working.set(eventIdOf(0), {} as Msg);
      ordered.stop();
      stopped.resolve();
      const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
      assert.is(await consumer.next({ expires: 1_500 }), null);
      await ordered.settle(working.get(eventIdOf(0))!, '+ACK');
      await waitUntil(() => areAcknowledged(nats, 1));
    }),
  );

/** As many as the broker delivers without an acknowledgement. */
const MANY = 1_000;

test(
  'a runner that stops finds at once which of a thousand messages of a session wait for its work',
  withRunnerTest({ ackWaitMs: 600_000 }, async ({ nats, service }) => {
    for (let index = 1; index <= MANY; index++) await say(nats, index, 's', index - 1);
    const messages = await openAgentMessages(service.url);
    const working = new Map([[eventIdOf(0), {} as Msg]]);
    const processed = { has: () => false, add: () => {} };
    const ordered = keepSessionOrder(messages, { processed, working, findSettled: async () => [], report: () => {} });
    afterTest(ordered.close);
    const pulling = ordered.pull();
    await waitUntil(() => ordered.waiting().length === MANY);
    ordered.stop();
    await pulling;
    const startedAt = performance.now();
    for (let round = 0; round < 5; round++) ordered.recheck();
    const ms = (performance.now() - startedAt) / 5;
    assert.is(ordered.waiting().length, MANY);
    assert.ok(ms < 50 * loadFactor(), `it takes ${ms} ms`);
    working.clear();
    ordered.recheck();
    assert.is(ordered.waiting().length, 0);
    await ordered.close();
  }),
);

test.run();
