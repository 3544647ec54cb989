// limit: 240 s for this file (test/run.ts)
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { AGENT, areAcknowledged, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

test(
  'a runner with a maximum number of runs exits after that many runs; its exit code is 1 only if a run has failed',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    for (let index = 0; index < 6; index++) await publish(nats, index);
    assert.is(await start('echo $ANNALS_DELIVERY_ID >> out', { max: 1 }).ended, 0);
    assert.equal(lines(), ['d-0']);
    assert.is(await start('echo $ANNALS_DELIVERY_ID >> out', { max: 3, concurrency: 5 }).ended, 0);
    assert.equal(lines().sort(), ['d-0', 'd-1', 'd-2', 'd-3']);
    assert.is(await start('echo $ANNALS_DELIVERY_ID >> out; exit 1', { max: 1 }).ended, 1);
    assert.equal(lines().sort(), ['d-0', 'd-1', 'd-2', 'd-3', 'd-4']);
  }),
);

test(
  'a message whose event was processed before does not count as a run of the runner',
  withRunnerTest({}, async ({ nats, start, lines, dir }) => {
    await publish(nats, 0);
    await publish(nats, 1);
    writeFileSync(join(dir, `${AGENT}.ledger`), `${eventIdOf(0)}\n`);
    assert.is(await start('echo $ANNALS_DELIVERY_ID >> out', { max: 1 }).ended, 0);
    assert.equal(lines(), ['d-1']);
  }),
);

test(
  'a run that exceeds the time limit is stopped, and its message is delivered again',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    await publish(nats, 0);
    const command = 'echo $ANNALS_ATTEMPT >> out; [ $ANNALS_ATTEMPT = 2 ] || { sleep 20; echo late >> out; }';
    assert.is(await start(command, { max: 2, timeoutMs: 500 }).ended, 1);
    assert.ok(await areAcknowledged(nats, 1));
    assert.equal(lines(), ['1', '2']);
  }),
);

const countIn = (text: string, line: string): number => text.split(line).length - 1;

test(
  'a runner prints one line when it loses the broker, and one when it is connected again',
  withRunnerTest({}, async ({ nats, startProcess, lines, broker }) => {
    const spawned = startProcess('echo $ANNALS_DELIVERY_ID >> out');
    await publish(nats, 0);
    await waitUntil(() => lines().length === 1);
    for (let round = 1; round <= 2; round++) {
      await broker.kill();
      await waitUntil(() => countIn(spawned.output(), 'the connection to the broker is lost; trying again\n') === round);
      await sleep(1_000);
      await broker.start();
      await waitUntil(() => countIn(spawned.output(), 'connected to the broker again\n') === round);
      assert.is(countIn(spawned.output(), 'the connection to the broker is lost'), round);
    }
    spawned.kill('SIGTERM');
    assert.is(await spawned.exited, 0);
    assert.is(countIn(spawned.output(), '\n'), 5);
  }),
);

test(
  'a runner prints one line when the service issues no new credential, and one line when the service issues one again',
  withRunnerTest({ seconds: 4 }, async ({ startProcess, service }) => {
    const spawned = startProcess('true');
    await waitUntil(() => service.issued() === 1);
    service.setOutage('unavailable');
    await waitUntil(() => countIn(spawned.output(), 'the service answers 503; trying again\n') === 1);
    await sleep(2_000);
    service.setOutage(null);
    await waitUntil(() => countIn(spawned.output(), 'the service answers again\n') === 1);
    assert.is(countIn(spawned.output(), 'the service answers 503'), 1);
    spawned.kill('SIGTERM');
    assert.is(await spawned.exited, 0);
  }),
);

test.run();
