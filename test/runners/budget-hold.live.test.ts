// limit: 240 s for this file (test/run.ts)
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { loadFactor } from '../fixtures/load-factor.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { areAcknowledged, consumerInfo, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const NEXT_HOUR = '2026-03-14T10:00:00.000Z';
/** A spent hour is asked for every two seconds, so a runner continues well within this time. */
const GO_ON_MS = 5_000;
const SPENT = { limit_usd: 1, left_usd: 0 };

/** Starts a server that answers events by `answer`, and returns its URL and the number of events that it got. */
const startServer = async (answer: (count: number) => readonly [number, object]) => {
  const received = { count: 0 };
  const server = createServer((request, response) => {
    const [status, body] = answer(++received.count);
    request.resume().on('end', () => response.writeHead(status).end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
};

test(
  'while the budget is spent, a runner pulls nothing, even if it is restarted ten times; it continues in the next hour, in order',
  withRunnerTest({}, async ({ nats, service, start, lines }) => {
    Object.assign(service.budget, SPENT);
    for (const index of [0, 1, 2]) await publish(nats, index);
    for (let run = 0; run < 10; run++) {
      const reads = service.budget.reads;
      const stop = start('cat >> out');
      await waitUntil(async () => service.budget.reads > reads);
      assert.is(await stop(), 0);
    }
    const stop = start('printf "$ANNALS_ATTEMPT $ANNALS_DELIVERY_ID\\n" >> out', { max: 3 });
    const asked = service.budget.reads;
    await waitUntil(async () => service.budget.reads > asked);
    assert.equal([(await consumerInfo(nats)).delivered.consumer_seq, lines()], [0, []]);
    Object.assign(service.budget, { hour: NEXT_HOUR, left_usd: 1 });
    const from = Date.now();
    await waitUntil(async () => lines().length > 0);
    assert.ok(Date.now() - from < GO_ON_MS * loadFactor(), `it continued after ${Date.now() - from} ms`);
    assert.is(await stop.ended, 0);
    assert.equal(lines(), ['1 d-0', '1 d-1', '1 d-2']);
  }),
);

/** Handlers that find out that the budget is spent. Each works once the file `allowed` is there. */
const handlers = {
  'a command that ends with 75 after a refusal': { exec: 'echo "$ANNALS_ATTEMPT $ANNALS_DELIVERY_ID" >> out; test -e allowed || exit 75' },
  'a URL that answers 429 with the code budget_exceeded': { code: 'budget_exceeded' },
};

for (const [name, { exec = 'true', code }] of Object.entries(handlers) as [string, { exec?: string; code?: string }][])
  test(
    `${name} gets the same event again when budget is available again, and no attempt is counted`,
    withRunnerTest({ ackWaitMs: 1_000 }, async ({ nats, service, start, dir, lines }) => {
      Object.assign(service.budget, { limit_usd: 1, left_usd: 0.3, refused: 1 });
      let isAllowed = false;
      const { url, received } = await startServer(() => (isAllowed ? [204, {}] : [429, { code, left_usd: 0.3, limit_usd: 1 }]));
      for (const index of [0, 1]) await publish(nats, index);
      const stop = start(exec, { progressMs: 100, ...(code !== undefined && { forward: url }) });
      const runs = () => (code === undefined ? lines().length : received.count);
      await waitUntil(async () => runs() === 1);
      const asked = service.budget.reads;
      await waitUntil(async () => service.budget.reads >= asked + 2);
      assert.is(runs(), 1, 'nothing starts while no more is left');
      const held = await consumerInfo(nats);
      assert.equal([held.num_ack_pending, held.num_redelivered, held.delivered.consumer_seq], [1, 0, 1]);
      isAllowed = true;
      writeFileSync(`${dir}/allowed`, '');
      Object.assign(service.budget, { left_usd: 0.8 });
      await waitUntil(() => areAcknowledged(nats, 2));
      await stop();
      assert.is((await consumerInfo(nats)).delivered.consumer_seq, 2);
      assert.equal([runs(), service.reports], [3, []]);
    }),
  );

/** Failures that the budget does not explain. `budget` is that of the agent. */
const ordinary = {
  'exit code 75 without a budget': { exec: 'exit 75', budget: {} },
  'exit code 75 with an untouched budget': { exec: 'exit 75', budget: { limit_usd: 1, left_usd: 1 } },
  'exit code 75 in an hour without a refusal': { exec: 'exit 75', budget: { limit_usd: 1, left_usd: 0.5 } },
  'another exit code with a budget': { exec: 'exit 1', budget: { limit_usd: 1, left_usd: 0.5, refused: 1 } },
  'a 429 of another kind': { body: { code: 'rate_limited' }, budget: { limit_usd: 1, left_usd: 0.5, refused: 1 } },
  'a refusal of more than the whole budget': {
    body: { code: 'budget_exceeded', limit_usd: 1, left_usd: 1 },
    budget: { limit_usd: 1, left_usd: 1, refused: 1 },
  },
};

test(
  'a failure that the budget does not explain is a failed attempt',
  withRunnerTest({}, async ({ nats, service, start }) => {
    let index = 0;
    for (const [name, { budget, ...kind }] of Object.entries(ordinary)) {
      Object.assign(service.budget, { limit_usd: null, left_usd: null, refused: 0, ...budget });
      await publish(nats, index);
      const { url } = await startServer(() => [429, 'body' in kind ? kind.body : {}]);
      const forward = 'body' in kind ? url : undefined;
      assert.is(await start('exec' in kind ? kind.exec : 'true', { max: 1, forward }).ended, 1, name);
      index++;
      await waitUntil(async () => service.reports.length === index);
      const drain = start('true', { max: 1 });
      assert.is(await drain.ended, 0, name);
    }
  }),
);

test(
  'a runner that is stopped while an event waits for the budget ends at once, and returns the event',
  withRunnerTest({}, async ({ nats, service, start, lines }) => {
    Object.assign(service.budget, { limit_usd: 1, left_usd: 0.3, refused: 1 });
    await publish(nats, 0);
    const stop = start('echo "$ANNALS_ATTEMPT" >> out; exit 75');
    await waitUntil(async () => lines().length === 1);
    const from = Date.now();
    await stop();
    assert.ok(Date.now() - from < GO_ON_MS * loadFactor(), `it ended after ${Date.now() - from} ms`);
    assert.is(service.reports[0]?.outcome, 'released');
    Object.assign(service.budget, { left_usd: 1 });
    assert.is(await start('echo "$ANNALS_ATTEMPT" >> out', { max: 1 }).ended, 0);
    assert.equal(lines(), ['1', '2']);
  }),
);

test.run();
