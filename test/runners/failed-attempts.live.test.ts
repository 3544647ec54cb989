// limit: 120 s for this file (test/run.ts)
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { ADVISORY_STREAM, manager, STREAM } from '../../infra/nats/jetstream.ts';
import type { SettledMessage } from '../../infra/relay/record-acknowledgements.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import {
  AGENT,
  acknowledgedCount,
  ownDeliveries,
  publishDeliveries,
  settle,
  settledIn,
  startRecorder,
} from '../fixtures/settled-messages.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

test(
  'each negative acknowledgement of a message is recorded with the number of the attempt; that of the last attempt is recorded before the message is given up',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await publishDeliveries(nats, 6, { maxDeliveries: 3 });
    const settled: SettledMessage[] = [];
    const recorder = startRecorder(log, nats, (message) => void settled.push(message));
    const [first, second] = ownDeliveries(6);
    await settle(nats, 2, 'nak');
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(AGENT));
    for (let refused = 0; refused < 2; ) {
      const message = (await consumer.next({ expires: 5_000 }))!;
      const isFirst = message.headers!.get('Annals-Delivery') === first;
      if (isFirst) refused++;
      message[isFirst ? 'nak' : 'ack']();
    }
    assert.is(await consumer.next({ expires: 1_000 }), null);
    await waitUntil(async () => (await settledIn(log)).dead.length === 1);
    const { acknowledged, failed, dead } = await settledIn(log);
    assert.equal([acknowledged, dead], [[second], [first]]);
    assert.equal(failed.sort(), [`${first} 1`, `${first} 2`, `${first} 3`, `${second} 1`].sort());
    assert.equal(settled.map(({ outcome, attempts }) => `${outcome} ${attempts}`).sort(), ['acknowledged 2', 'max_deliveries 3']);
    await recorder.close();
  }),
);

test(
  'acknowledgements are still recorded after the broker has lost the sequence numbers of the advisory stream',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = await publishDeliveries(nats, 60);
    const { streams } = await manager(nats);
    const recorder = startRecorder(log, nats);
    await settle(nats, 15, 'ack');
    await waitUntil(async () => (await acknowledgedCount(log)) === 15);
    const { created } = await streams.info(ADVISORY_STREAM);
    await broker.kill();
    // A server that is killed while it deletes messages can leave the stream without these files.
    for (const file of globSync(join(broker.dir, `jetstream/**/streams/${ADVISORY_STREAM}/msgs/*`))) rmSync(file);
    await broker.start();
    await waitUntil(() => streams.info(ADVISORY_STREAM).then(Boolean, () => false));
    const restarted = await streams.info(ADVISORY_STREAM);
    assert.is(restarted.created, created);
    assert.ok(restarted.state.last_seq < 15);
    await settle(nats, 5, 'ack');
    await waitUntil(async () => (await acknowledgedCount(log)) === 20);
    assert.is((await settledIn(log)).acknowledged.length, 20);
    await recorder.close();
  }),
);

test.run();
