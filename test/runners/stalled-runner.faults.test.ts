import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

/** Longer than a runner waits for the answer to one request. */
const STALL_MS = 8_000;
/** The broker does not deliver a dropped message again within the test. */
const NEVER_AGAIN = { ackWaitMs: 600_000 };

const hasOpenRequest = (nats: Parameters<typeof consumerInfo>[0]): Promise<boolean> =>
  consumerInfo(nats).then(
    ({ num_waiting }) => num_waiting > 0,
    () => false,
  );

test(
  'a message that arrives while the process of a runner is stopped is processed afterwards, before later ones',
  withRunnerTest({}, async ({ nats, startProcess, lines }) => {
    const runner = startProcess('echo $ANNALS_EVENT_ID $ANNALS_ATTEMPT >> out');
    await waitUntil(() => hasOpenRequest(nats));
    runner.kill('SIGSTOP');
    await publish(nats, 0);
    await sleep(STALL_MS);
    runner.kill('SIGCONT');
    await publish(nats, 1);
    await waitUntil(() => lines().length === 2);
    assert.equal(lines(), [`${eventIdOf(0)} 1`, `${eventIdOf(1)} 1`]);
  }),
);

test(
  'a message that arrives after the request for it was given up is processed at once',
  withRunnerTest(NEVER_AGAIN, async ({ broker, nats, service, start, lines }) => {
    const proxy = await startTcpProxy(broker.address.natsUrl);
    service.setBrokerUrl(proxy.url);
    start('echo $ANNALS_EVENT_ID $ANNALS_ATTEMPT >> out');
    await waitUntil(() => hasOpenRequest(nats));
    proxy.stall();
    await publish(nats, 0);
    await sleep(STALL_MS);
    proxy.resume();
    await waitUntil(() => lines().length === 1, 10_000);
    assert.equal(lines(), [`${eventIdOf(0)} 1`]);
  }),
);

test.run();
