// limit: 240 s for this file (test/run.ts)

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { type AdvisoryBatch, openAdvisories } from '../../infra/nats/advisories.ts';
import { ADVISORY_STREAM, ensureConsumer, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { type SettledMessage, startAcknowledgementRecorder } from '../../infra/relay/record-acknowledgements.ts';
import { TENANT } from '../fixtures/generated-log.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import {
  AGENT,
  acknowledgedCount,
  ownDeliveries,
  publishDeliveries,
  settle,
  settledIn,
  startRecorder,
  startTestRelay,
} from '../fixtures/settled-messages.ts';
import { limitFileSize } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Wraps a log so that appends are slow. Two recorders thus load the same state before one of them appends. */
const delayAppends = (log: Log): Log => ({
  ...log,
  append: async (...append) => {
    await sleep(100);
    return log.append(...append);
  },
});

test(
  'each message that is acknowledged, terminated or expired is recorded and counted once, even if two recorders run and are restarted',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await publishDeliveries(nats, 300, { maxDeliveries: 1, ackWaitMs: 500 });
    const other = await broker.connect();
    const settled: SettledMessage[] = [];
    const slowLog = delayAppends(log);
    const startBoth = () => [nats, other].map((each) => startRecorder(slowLog, each, (message) => void settled.push(message)));
    let recorders = startBoth();
    for (let round = 0; round < 3; round++) {
      await settle(nats, 25, 'ack');
      await Promise.all(recorders.map((each) => each.close()));
      recorders = startBoth();
    }
    await settle(nats, 10, 'term');
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
    for await (const _ of await consumer.fetch({ max_messages: 5, expires: 1_000 }));
    // The time to acknowledge some of the messages is over. The server publishes the advisories about them only when
    // the next message is requested.
    await waitUntil(async () => {
      for await (const message of await consumer.fetch({ max_messages: 1, expires: 1_000 })) message.ack();
      const { acknowledged, dead } = await settledIn(log);
      return acknowledged.length + dead.length >= 100;
    });
    await Promise.all(recorders.map((each) => each.close()));
    const { acknowledged, dead } = await settledIn(log);
    assert.equal([...acknowledged, ...dead].sort(), ownDeliveries(300).sort());
    assert.is(dead.length, 15);
    const counts = Object.groupBy(settled, ({ outcome }) => outcome);
    assert.equal([counts.acknowledged!.length, counts.terminated!.length, counts.max_deliveries!.length], [acknowledged.length, 10, 5]);
    for (const { seconds } of settled) assert.ok(seconds !== null && seconds >= 0 && seconds < 240);
    await waitUntil(async () => (await (await manager(nats)).streams.info(ADVISORY_STREAM)).state.messages === 0);
  }),
);

test(
  'after the NATS stream is deleted and created again, acknowledgements of earlier messages are not recorded for new messages with the same sequence numbers',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await publishDeliveries(nats, 30);
    await settle(nats, 5, 'ack');
    const { streams } = await manager(nats);
    const advisoryCount = async (): Promise<number> => (await streams.info(ADVISORY_STREAM)).state.messages;
    await waitUntil(async () => (await advisoryCount()) === 5);
    await streams.delete(STREAM);
    const relay = await startTestRelay(log, nats);
    await waitUntil(() => relay.status().published === 30);
    const recorder = startRecorder(log, nats);
    await waitUntil(async () => (await advisoryCount()) === 0);
    assert.equal(await settledIn(log), { acknowledged: [], failed: [], dead: [] });
    await recorder.close();
    await relay.close();
  }),
);

test(
  'acknowledgements are not lost in outages of the log and the broker; if the NATS stream is created again, acknowledged messages are not published to it again',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await publishDeliveries(nats, 300);
    const endOutage = log.outage();
    const recorder = startRecorder(log, nats);
    await settle(nats, 60, 'ack');
    await new Promise((resolve) => setTimeout(resolve, 800));
    endOutage();
    await waitUntil(async () => (await settledIn(log)).acknowledged.length === 60);
    await broker.kill();
    await broker.start();
    await waitUntil(() => ensureConsumer(nats, TENANT, AGENT).then(Boolean, () => false));
    let acknowledged = 60;
    // The killed broker may have lost acknowledgements, and then delivers those messages again. A message that is
    // acknowledged twice counts once. So continue until 70 different messages are recorded as acknowledged.
    const isOver = deadline(90_000);
    for (; acknowledged < 70; acknowledged = await acknowledgedCount(log)) {
      assert.not(isOver(), `only ${acknowledged} acknowledgements are recorded`);
      await settle(nats, 70 - acknowledged, 'ack');
      await waitUntil(async () => (await acknowledgedCount(log)) >= 70, 4_000).catch(() => {});
    }
    await (await manager(nats)).streams.delete(STREAM);
    const relay = await startTestRelay(log, nats);
    await waitUntil(async () => relay.status().published >= 300 - acknowledged);
    assert.is((await (await manager(nats)).streams.info(STREAM)).state.messages, 300 - acknowledged);
    await ensureConsumer(nats, TENANT, AGENT);
    await settle(nats, 100 - acknowledged, 'ack');
    await waitUntil(async () => (await acknowledgedCount(log)) === 100);
    assert.equal([...new Set((await settledIn(log)).acknowledged)].sort(), ownDeliveries(300).sort());
    await relay.close();
    await recorder.close();
  }),
);

test(
  'if a request for advisories has ended before the server answers it, the server sends the advisory in that answer again, and it is recorded',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    await publishDeliveries(nats, 12);
    const reader = await openAdvisories(nats);
    const [consumer] = await (await manager(nats)).consumers.list(ADVISORY_STREAM).next();
    const loseNext = () =>
      nats.request(`$JS.API.CONSUMER.MSG.NEXT.${ADVISORY_STREAM}.${consumer!.name}`, '1', { noMux: true, timeout: 2_000 });
    const sequencesOf = (batch: AdvisoryBatch | null): number[] => batch?.advisories.map(({ advisory }) => advisory.sequence) ?? [];
    await settle(nats, 2, 'ack');
    await loseNext();
    assert.equal(sequencesOf(await reader.next(1_000)), [1, 2]);
    await settle(nats, 1, 'ack');
    await loseNext();
    assert.equal(sequencesOf(await reader.next(1_000)), [3]);
    assert.is(await reader.next(1_000), null);
    await reader.close();
  }),
);

test(
  'the acknowledgement recorder logs no warning before the first message is acknowledged',
  withNatsServer(async (server) => {
    const nats = await server.connect();
    const log = await publishDeliveries(nats, 3);
    const warnings: string[] = [];
    const warningLogger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
    const recorder = startAcknowledgementRecorder({ log, nats, logger: warningLogger, intervalMs: 1_000 });
    afterTest(recorder.close);
    await sleep(2_500);
    assert.equal(warnings, []);
  }),
);

test(
  'the acknowledgement recorder reports within seconds that the NATS server cannot store advisories, and continues once the server can store them',
  withNatsServer(async (server) => {
    const nats = await server.connect();
    const log = await publishDeliveries(nats, 3);
    const recorder = startRecorder(log, nats);
    const { streams } = await manager(nats);
    await waitUntil(async () => (await streams.info(ADVISORY_STREAM)).state.consumer_count > 0);
    const pid = Number(readFileSync(join(server.dir, 'nats.pid'), 'utf8'));
    limitFileSize(pid, '1');
    await waitUntil(() => recorder.status().isStreamStopped);
    assert.match(recorder.status().reason!, /file too large/);
    limitFileSize(pid, 'unlimited');
    await waitUntil(() => recorder.status().reason === null);
    assert.is(recorder.status().isStreamStopped, false);
    await settle(nats, 1, 'ack');
    await waitUntil(async () => (await acknowledgedCount(log)) === 1);
  }),
);

test(
  'if the NATS stream for advisories is deleted, the acknowledgement recorder creates it again',
  withNatsServer(async (server) => {
    const nats = await server.connect();
    const log = await publishDeliveries(nats, 3);
    const recorder = startRecorder(log, nats);
    const { streams } = await manager(nats);
    await waitUntil(async () => (await streams.info(ADVISORY_STREAM)).state.consumer_count > 0);
    await streams.delete(ADVISORY_STREAM);
    await waitUntil(() =>
      streams.info(ADVISORY_STREAM).then(
        ({ state }) => state.consumer_count > 0,
        () => false,
      ),
    );
    await settle(nats, 1, 'ack');
    await waitUntil(async () => (await acknowledgedCount(log)) === 1);
    await waitUntil(() => recorder.status().reason === null);
  }),
);

test.run();
