import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { apiClient } from '../../infra/runner/api-client.ts';
import { createBudgetGate } from '../../infra/runner/budget-gate.ts';
import { openMessages } from '../../infra/runner/message-consumer.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { KEY, type runnerService } from '../fixtures/runner-service.ts';
import { areAcknowledged, cloudEvent, consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** The broker does not deliver a dropped message again within the test. */
const NEVER_AGAIN = { ackWaitMs: 600_000 };
const SOON_MS = 10_000;

const RECORD = 'echo $ANNALS_EVENT_ID >> out';

const hasRequests = (nats: NatsConnection, count: number) => (): Promise<boolean> =>
  consumerInfo(nats).then(
    ({ num_waiting }) => num_waiting >= count,
    () => false,
  );

const otherDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-runner-'));
  afterTest(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** The first command waits until the file `go` exists, or a minute. */
const BUSY = `if [ $ANNALS_EVENT_ID = ${eventIdOf(0)} ]; then for i in $(seq 600); do [ -e go ] && break; sleep 0.1; done; fi; ${RECORD}`;

test(
  'a runner that is stopped while a command runs takes no more messages: another runner gets them at once',
  withRunnerTest(NEVER_AGAIN, async ({ nats, start, lines, dir }) => {
    await publish(nats, 0);
    const stop = start(BUSY, { concurrency: 4 });
    await waitUntil(hasRequests(nats, 3));
    const stopped = stop();
    for (let index = 1; index <= 6; index++) await publish(nats, index);
    start(RECORD, { dir: otherDir() });
    await waitUntil(() => lines().length === 6, SOON_MS);
    writeFileSync(join(dir, 'go'), '');
    assert.is(await stopped, 0);
    await waitUntil(() => areAcknowledged(nats, 7), SOON_MS);
    assert.is(new Set(lines()).size, 7);
    assert.is(lines().length, 7);
  }),
);

test(
  'a runner that is stopped while a command runs returns the messages that do not wait for this command',
  withRunnerTest(NEVER_AGAIN, async ({ nats, start, lines, service, dir }) => {
    await publish(nats, 0);
    const stop = start(BUSY, { concurrency: 2 });
    await publish(nats, 2, cloudEvent(2, { session: 's', previous: eventIdOf(1) }));
    await waitUntil(async () => service.asked.has(eventIdOf(1)));
    const stopped = stop();
    service.settled.add(eventIdOf(1));
    start(RECORD, { dir: otherDir() });
    await waitUntil(() => lines().length === 1, SOON_MS);
    assert.equal(lines(), [eventIdOf(2)]);
    writeFileSync(join(dir, 'go'), '');
    await stopped;
  }),
);

/**
 * Starts a proxy that cuts the first connection when `cut` is called. On a later connection, it forwards what the
 * client sends up to its first UNSUB, calls `onSubscribed`, and then forwards the rest.
 */
const startSplittingProxy = async (url: string, onSubscribed: () => Promise<void>) => {
  const { port, hostname } = new URL(url);
  const sockets: Socket[] = [];
  let connections = 0;
  const server = createServer((client) => {
    const broker = connect(Number(port), hostname);
    sockets.push(client, broker);
    for (const end of [client, broker]) end.on('error', () => {}).on('close', () => [client, broker].map((other) => other.destroy()));
    broker.pipe(client);
    if (connections++ === 0) return void client.pipe(broker);
    client.on('data', (bytes: Buffer) => {
      const at = bytes.indexOf('UNSUB');
      if (at < 0) return void broker.write(bytes);
      client.removeAllListeners('data').pause();
      broker.write(bytes.subarray(0, at));
      void onSubscribed().then(() => {
        broker.write(bytes.subarray(at));
        client.pipe(broker);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `nats://127.0.0.1:${(server.address() as { port: number }).port}`,
    cut: (): void => sockets.forEach((socket) => void socket.destroy()),
    connections: () => connections,
  };
};

test(
  'a message that arrives when a lost connection has just been re-established is processed at once',
  withRunnerTest(NEVER_AGAIN, async ({ broker, nats, start, lines, service }) => {
    const proxy = await startSplittingProxy(broker.address.natsUrl, async () => {
      await sleep(100);
      await publish(nats, 0);
      await sleep(300);
    });
    service.setBrokerUrl(proxy.url);
    start(RECORD);
    await waitUntil(hasRequests(nats, 1));
    await sleep(500);
    proxy.cut();
    await waitUntil(() => lines().length === 1, SOON_MS);
    assert.is(proxy.connections(), 2);
  }),
);

test(
  'a runner reports progress as soon as a lost connection is back, so that no other runner gets the message',
  withRunnerTest({ ackWaitMs: 4_000 }, async ({ broker, nats, start, lines, service }) => {
    const proxy = await startTcpProxy(broker.address.natsUrl);
    service.setBrokerUrl(proxy.url);
    await publish(nats, 0);
    start('echo $ANNALS_EVENT_ID >> out; sleep 6', { progressMs: 2_000 });
    await waitUntil(() => lines().length === 1);
    service.setBrokerUrl(broker.address.natsUrl);
    start(RECORD, { dir: otherDir() });
    await sleep(1_300);
    proxy.close();
    await sleep(1_400);
    proxy.open();
    await waitUntil(() => areAcknowledged(nats, 1), SOON_MS);
    assert.equal(lines(), [eventIdOf(0)]);
  }),
);

for (const isReplaced of [false, true])
  test(
    `when a connection is ${isReplaced ? 'replaced while it is lost' : 'back'}, the progress of each message is reported once and at once`,
    withRunnerTest({ ...NEVER_AGAIN, seconds: isReplaced ? 8 : 3_600 }, async ({ broker, nats, service }) => {
      const proxy = await startTcpProxy(broker.address.natsUrl);
      service.setBrokerUrl(proxy.url);
      const api = apiClient({ url: service.url, key: KEY, outage: createOutageReport(() => {}, '') });
      const messages = openMessages(api, await api.find('triage'), () => {})(new AbortController().signal);
      afterTest(messages.close);
      const sent: string[] = [];
      nats.subscribe('$JS.ACK.>', { callback: (_, { data }) => void sent.push(Buffer.from(data).toString()) });
      for (const index of [0, 1]) await publish(nats, index);
      const pulled = [await messages.pull(() => {}), await messages.pull(() => {})].map((message) => message!);
      for (const message of pulled) messages.reportProgress(message);
      await waitUntil(() => sent.length === 2);
      proxy.close();
      if (isReplaced) service.setBrokerUrl(broker.address.natsUrl);
      await sleep(500);
      const report = (): void => {
        for (const message of pulled) {
          messages.reportProgress(message);
          messages.postpone(message, 60_000);
        }
      };
      const reporting = setInterval(report, 50);
      afterTest(() => clearInterval(reporting));
      await sleep(1_000);
      clearInterval(reporting);
      if (!isReplaced) proxy.open();
      await waitUntil(() => sent.length >= 4, SOON_MS);
      await sleep(1_000);
      assert.equal(sent, Array(4).fill('+WPI'));
    }),
  );

test(
  'a message that is delivered again while its command runs is not processed a second time by the same runner',
  withRunnerTest({ ackWaitMs: 1_000 }, async ({ nats, start, lines }) => {
    await publish(nats, 0);
    start('echo $ANNALS_EVENT_ID >> out; sleep 3', { concurrency: 3, progressMs: 20_000 });
    await waitUntil(() => areAcknowledged(nats, 1), SOON_MS);
    assert.equal(lines(), [eventIdOf(0)]);
  }),
);

test(
  'a message that is delivered again while its command runs is tried again after the delay if the command fails',
  withRunnerTest({ ackWaitMs: 1_000 }, async ({ nats, start, lines }) => {
    await publish(nats, 0);
    start('echo $ANNALS_EVENT_ID >> out; sleep 2.2; [ $(wc -l < out) = 2 ]', { concurrency: 3, progressMs: 20_000 });
    await waitUntil(() => areAcknowledged(nats, 1), 2 * SOON_MS);
    assert.equal(lines(), [eventIdOf(0), eventIdOf(0)]);
  }),
);

/** Opens the budget of a service that allowed work a second ago, and does not answer any more. */
const openSilentBudget = async (service: Awaited<ReturnType<typeof runnerService>>) => {
  const api = apiClient({ url: service.url, key: KEY, outage: createOutageReport(() => {}, '') });
  const gate = createBudgetGate({ api, agent: await api.find('triage'), report: () => {} });
  const ending = new AbortController();
  afterTest(() => ending.abort());
  Object.assign(service.budget, { limit_usd: 10, left_usd: 10 });
  assert.ok(await gate.untilOpen(ending.signal));
  service.setOutage('silent');
  await sleep(1_100);
  return { gate, ending };
};

test(
  'no event starts after a stop if the service does not say meanwhile that the budget allows it',
  withRunnerTest({}, async ({ service }) => {
    const { gate, ending } = await openSilentBudget(service);
    const opened = gate.untilOpen(ending.signal);
    await sleep(200);
    ending.abort();
    assert.not.ok(await opened, 'stopped while the answer was awaited');
    await sleep(1_000);
    assert.not.ok(await gate.untilOpen(ending.signal), 'stopped before');
  }),
);

test(
  'a service that does not answer does not delay messages if the budget allowed work before',
  withRunnerTest({}, async ({ service }) => {
    const { gate, ending } = await openSilentBudget(service);
    const startedAt = performance.now();
    assert.ok(await gate.untilOpen(ending.signal));
    assert.ok(performance.now() - startedAt < 5_000);
  }),
);

test.run();
