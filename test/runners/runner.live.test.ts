// limit: 240 s for this file (test/run.ts)
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { headers } from 'nats';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { manager, STREAM } from '../../infra/nats/jetstream.ts';
import type { RunnerOptions } from '../../infra/runner/runner.ts';
import { agentOf, deliveryOf, eventIdOf, TENANT } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { KEY } from '../fixtures/runner-service.ts';
import { AGENT, areAcknowledged, cloudEvent, consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test(
  'a command gets the CloudEvent on its standard input, and the ids and the trace context of the event in environment variables',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
    const large = Buffer.from(`{ "text": "${'y'.repeat(200_000)}" }`);
    service.bodies.set(deliveryOf(1), large);
    await publish(nats, 0, cloudEvent(0, { data: { index: 0 }, traceparent: TRACE }));
    await publish(nats, 1, cloudEvent(1, { dataref: `https://elsewhere.test/tenant/${TENANT}/deliveries/${deliveryOf(1)}/body` }));
    const ids = '$ANNALS_EVENT_ID $ANNALS_DELIVERY_ID $ANNALS_SUBJECT $ANNALS_AGENT $ANNALS_ATTEMPT $TRACEPARENT';
    const stop = start(`cat >> events; echo >> events; echo ${ids} >> out`);
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.is(await stop(), 0);
    assert.equal(
      lines(),
      [0, 1].map((index) => `${eventIdOf(index)} d-${index} ${deliveryOf(index)} triage 1${index === 0 ? ` ${TRACE}` : ''}`),
    );
    assert.equal(JSON.parse(lines('events')[0]!), cloudEvent(0, { data: { index: 0 }, traceparent: TRACE }));
    assert.ok(lines('events')[1]!.endsWith(`,"data":${large}}`));
    assert.is(JSON.parse(lines('events')[1]!).dataref, undefined);
  }),
);

for (const kind of ['unavailable', 'cut'] as const)
  test(
    `while the answers of the service are ${kind}, events that need it wait in order, without a failed attempt`,
    withRunnerTest({ ackWaitMs: 1_500 }, async ({ nats, start, lines, service }) => {
      const startAndConnect = async (runners: number): Promise<() => Promise<number>> => {
        const stop = start('echo $ANNALS_EVENT_ID $ANNALS_ATTEMPT >> out', { progressMs: 300 });
        await waitUntil(async () => service.issued() === runners && (await consumerInfo(nats)).num_waiting > 0);
        return stop;
      };
      const duringOutage = async (work: () => Promise<void>): Promise<void> => {
        service.setOutage(kind);
        await work();
        await sleep(4_000);
        service.setOutage(null);
      };
      const large = cloudEvent(2, { dataref: `https://elsewhere.test/tenant/${TENANT}/deliveries/${deliveryOf(2)}/body` });
      service.bodies.set(deliveryOf(2), Buffer.from(`{ "text": "${'y'.repeat(200_000)}" }`));
      const stop = await startAndConnect(1);
      await duringOutage(async () => {
        for (const index of [0, 1]) await publish(nats, index);
      });
      await waitUntil(() => areAcknowledged(nats, 2));
      await duringOutage(async () => {
        await publish(nats, 2, large);
        await publish(nats, 3);
      });
      await waitUntil(() => areAcknowledged(nats, 4));
      await stop();
      assert.equal(
        lines(),
        [0, 1, 2, 3].map((index) => `${eventIdOf(index)} 1`),
      );
      assert.is((await consumerInfo(nats)).num_redelivered, 0);
      const stopWaiting = await startAndConnect(2);
      service.setOutage(kind);
      await publish(nats, 4);
      await sleep(500);
      await stopWaiting();
      assert.is(lines().length, 4, 'a stopped runner still runs the command');
    }),
  );

test(
  "a message of an earlier version, with the provider's id in the attribute delivery_id, is processed as before",
  withRunnerTest({}, async ({ nats, start, lines }) => {
    const { providerid, ...event } = cloudEvent(0);
    await publish(nats, 0, { ...event, deliveryid: providerid, delivery_id: providerid });
    const stop = start('echo $ANNALS_EVENT_ID $ANNALS_DELIVERY_ID $ANNALS_SUBJECT >> out');
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(lines(), [`${eventIdOf(0)} d-0 ${deliveryOf(0)}`]);
  }),
);

test(
  'if a runner is killed, its running command is killed, too, and the next run of the command gets the next attempt number',
  withRunnerTest({ ackWaitMs: 2_000 }, async ({ nats, startProcess, start, lines }) => {
    await publish(nats, 0);
    const spawned = startProcess('echo $$ >> pids; (sleep 1.5; echo child >> out) & sleep 1.5; echo done >> out');
    await waitUntil(() => lines('pids').length === 1);
    spawned.kill('SIGKILL');
    await spawned.exited;
    await waitUntil(
      () => !existsSync(`/proc/${lines('pids')[0]}`) || /State:\tZ/.test(readFileSync(`/proc/${lines('pids')[0]}/status`, 'utf8')),
      1_000,
    );
    await sleep(2_000);
    assert.equal(lines(), []);
    const stop = start('echo attempt $ANNALS_ATTEMPT >> out');
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(lines(), ['attempt 2']);
  }),
);

test(
  'if a runner is killed after the effect of its command but before the acknowledgement, the command has no second effect',
  withRunnerTest({ ackWaitMs: 1_000 }, async ({ nats, startProcess, lines, broker, start }) => {
    for (let round = 0; round < 4; round++) {
      await publish(nats, round);
      const spawned = startProcess('echo $ANNALS_EVENT_ID >> out; sleep 0.2');
      await waitUntil(() => lines().length > round);
      await broker.kill();
      await waitUntil(() => lines(`${AGENT}.ledger`).length > round);
      spawned.kill('SIGKILL');
      await spawned.exited;
      await broker.start();
      await waitUntil(() => consumerInfo(nats).then(Boolean, () => false));
    }
    const stop = start('echo $ANNALS_EVENT_ID >> out');
    await waitUntil(() => areAcknowledged(nats, 4));
    await stop();
    assert.equal(
      lines(),
      Array.from({ length: 4 }, (_, index) => eventIdOf(index)),
    );
  }),
);

test(
  'if an acknowledgement is lost and the message is delivered again, the command does not run again',
  withRunnerTest({ ackWaitMs: 1_000 }, async ({ nats, start, lines, broker }) => {
    await publish(nats, 0);
    const stop = start('echo $ANNALS_EVENT_ID >> out; echo started >> started; sleep 0.3');
    await waitUntil(() => lines('started').length === 1);
    await broker.kill();
    await sleep(1_500);
    await broker.start();
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(lines(), [eventIdOf(0)]);
  }),
);

test(
  'a failed command is run again after a delay, and the next message is handled in the meantime',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    await publish(nats, 0);
    await publish(nats, 1);
    const stop = start(`echo $ANNALS_DELIVERY_ID $(date +%s%3N) >> out; [ $ANNALS_DELIVERY_ID = d-1 ] || [ $(grep -c d-0 out) -ge 3 ]`);
    await waitUntil(() => areAcknowledged(nats, 2));
    await stop();
    const attempts = lines().map((line) => line.split(' ') as [string, string]);
    assert.equal(
      attempts.map(([id]) => id),
      ['d-0', 'd-1', 'd-0', 'd-0'],
    );
    const [first, second, third] = attempts.filter(([id]) => id === 'd-0').map(([, at]) => Number(at));
    assert.ok(second! - first! >= 950 && second! - first! < 1_900, `first delay ${second! - first!} ms`);
    assert.ok(third! - second! >= 1_950 && third! - second! < 3_500, `second delay ${third! - second!} ms`);
  }),
);

test(
  'a command that takes longer than the acknowledgement timeout is not run twice',
  withRunnerTest({ ackWaitMs: 800 }, async ({ nats, start, lines }) => {
    await publish(nats, 0);
    const stop = start('echo $ANNALS_EVENT_ID >> out; sleep 3', { progressMs: 300, concurrency: 3 });
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(lines(), [eventIdOf(0)]);
    assert.is((await consumerInfo(nats)).num_redelivered, 0);
  }),
);

test(
  'a message that is not a CloudEvent of a known version is not processed and not delivered again',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    await publish(nats, 0, cloudEvent(0, { specversion: '2.0' }));
    await publish(nats, 1, { no: 'event' });
    await nats.jetstream().publish(inboundSubject(TENANT, AGENT), '', { headers: headers(404, 'No Messages') });
    await publish(nats, 2);
    const stop = start('echo $ANNALS_DELIVERY_ID >> out');
    await waitUntil(() => areAcknowledged(nats, 4));
    await stop();
    assert.equal(lines(), ['d-2']);
  }),
);

for (const signal of ['SIGTERM', 'SIGHUP'] as const)
  test(
    `after ${signal}, the running command finishes, its message is acknowledged, and the runner exits with code 0`,
    withRunnerTest({}, async ({ nats, startProcess, lines }) => {
      await publish(nats, 0);
      await publish(nats, 1);
      const spawned = startProcess('echo started >> started; sleep 1; echo $ANNALS_DELIVERY_ID >> out');
      await waitUntil(() => lines('started').length === 1);
      spawned.kill(signal);
      assert.is(await spawned.exited, 0);
      assert.equal(lines(), ['d-0']);
      assert.is((await consumerInfo(nats)).ack_floor.stream_seq, 1);
    }),
  );

test(
  'credentials are renewed before they expire, even while a command runs',
  withRunnerTest({ seconds: 4, ackWaitMs: 1_000 }, async ({ nats, start, lines, service }) => {
    await publish(nats, 0);
    const stop = start('echo $ANNALS_DELIVERY_ID >> out; [ $ANNALS_DELIVERY_ID != d-0 ] || sleep 6', { progressMs: 300 });
    await waitUntil(() => areAcknowledged(nats, 1));
    await sleep(3_000);
    await publish(nats, 1);
    await waitUntil(() => areAcknowledged(nats, 2));
    await stop();
    assert.equal(lines(), ['d-0', 'd-1']);
    assert.ok(service.issued() >= 3, `${service.issued()} credentials`);
  }),
);

test(
  'the credential of a runner gives access to the consumer of its agent and to nothing else',
  withRunnerTest({}, async ({ nats, broker, service }) => {
    const { connect, jwtAuthenticator } = await import('nats');
    const response = await fetch(`${service.url}/tenant/${TENANT}/agents/${AGENT}/runner-credentials`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
    });
    const { id, jwt, seed, url } = (await response.json()) as Record<string, string>;
    const connection = await connect({
      servers: new URL(url!).host,
      authenticator: jwtAuthenticator(jwt!, new TextEncoder().encode(seed!)),
      inboxPrefix: `_INBOX_${id}`,
    });
    const denied: string[] = [];
    void (async () => {
      for await (const { data } of connection.status()) denied.push(String(data));
    })();
    const forbidden = [
      inboundSubject(TENANT, AGENT),
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.runner-${agentOf(1)}`,
      `$JS.API.STREAM.DELETE.${STREAM}`,
      `$JS.API.STREAM.MSG.GET.${STREAM}`,
      `$JS.ACK.${STREAM}.runner-${agentOf(1)}.1.1.1.1.1`,
    ];
    for (const subject of forbidden) connection.publish(subject, '{}');
    for (const subject of ['agents.>', '_INBOX.>', '>']) connection.subscribe(subject, { callback: () => {} });
    await connection.flush();
    await waitUntil(() => denied.length >= forbidden.length + 3);
    assert.is((await (await manager(nats)).streams.info(STREAM)).state.messages, 0);
    await connection.close();
    assert.ok(broker);
  }),
);

test(
  'a runner with a wrong API key, a wrong agent or an unreachable service prints one line with the reason',
  withRunnerTest({}, async ({ start, service, startProcess }) => {
    const errorOf = async (options: Partial<RunnerOptions>): Promise<string> => {
      const stop = start('true', options);
      await sleep(300);
      return stop().then(
        () => 'none',
        (error: Error) => error.message,
      );
    };
    assert.is(await errorOf({ key: 'another' }), 'ANNALS_KEY is refused: the key is not valid');
    assert.match(await errorOf({ url: `${service.url}/a/path` }), /^there is no Annals service at .*\/a\/path: correct ANNALS_URL$/);
    assert.is(await errorOf({ agent: 'other' }), 'ANNALS_KEY belongs to the agent triage, not to other');
    await service.close();
    const spawned = startProcess('true');
    await waitUntil(() => /does not answer: ECONNREFUSED; trying again/.test(spawned.output()));
    spawned.kill('SIGTERM');
    assert.is(await spawned.exited, 0);
  }),
);

test.run();
