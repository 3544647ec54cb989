// limit: 240 s for this file (test/run.ts)
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HTTP } from 'cloudevents';
import * as assert from 'uvu/assert';
import { retryAfterMs } from '../../infra/runner/retry-after.ts';
import { deliveryOf, eventIdOf, TENANT } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { areAcknowledged, cloudEvent, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

type Received = { readonly at: number; readonly headers: IncomingHttpHeaders; readonly body: string };

/**
 * Starts an HTTP server that stores its requests. `answer` responds to a request; it gets the number of the request,
 * starting with 1.
 */
const startServer = async (answer: (response: ServerResponse, count: number) => unknown) => {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const at = Date.now();
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    received.push({ at, headers: request.headers, body });
    answer(response, received.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
};

test(
  'a runner with --forward posts each event as a CloudEvent in structured mode with its whole body; a 2xx status acknowledges the event',
  withRunnerTest({}, async ({ nats, start, service }) => {
    const { url, received } = await startServer((response) => response.writeHead(204).end());
    const large = { text: 'ü'.repeat(100_000) };
    service.bodies.set(deliveryOf(1), Buffer.from(JSON.stringify(large)));
    await publish(nats, 0, cloudEvent(0, { data: { index: 0 }, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }));
    await publish(nats, 1, cloudEvent(1, { dataref: `https://elsewhere.test/tenant/${TENANT}/deliveries/${deliveryOf(1)}/body` }));
    const stop = start('true', { forward: url });
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.is(await stop(), 0);
    const parsed = received.map(({ headers, body }) => HTTP.toEvent({ headers, body }) as unknown as Record<string, unknown>);
    assert.equal(
      parsed.map(({ id, providerid, data }) => [id, providerid, data]),
      [
        [eventIdOf(0), 'd-0', { index: 0 }],
        [eventIdOf(1), 'd-1', large],
      ],
    );
    assert.match(received[0]!.headers['content-type']!, /^application\/cloudevents\+json\b/);
    assert.is(received[0]!.headers.traceparent, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
  }),
);

test(
  'after a status other than 2xx, a runner with --forward posts the event again after a growing delay, or after the delay in Retry-After',
  withRunnerTest({}, async ({ nats, start }) => {
    const answers = [[500], [503, { 'retry-after': '4' }], [302, { location: '/elsewhere' }], [202]] as const;
    const { url, received } = await startServer((response, count) => {
      const [status, headers = {}] = answers[count - 1]!;
      response.writeHead(status, headers).end('ignored');
    });
    await publish(nats, 0);
    const stop = start('true', { forward: url });
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(
      received.map(({ body }) => (JSON.parse(body) as { id: string }).id),
      answers.map(() => eventIdOf(0)),
    );
    const delays = received.slice(1).map(({ at }, index) => at - received[index]!.at);
    for (const [index, least] of [950, 3_950, 3_950].entries()) assert.ok(delays[index]! >= least, `delays ${delays}`);
    assert.ok(delays[0]! < 3_500, `the first delay is ${delays[0]} ms`);
  }),
);

test(
  'if the server to which events are posted does not answer in time or is down, the run fails, and the event is posted again',
  withRunnerTest({}, async ({ nats, start }) => {
    const { url, received } = await startServer((response, count) => count > 1 && response.writeHead(200).end());
    await publish(nats, 0);
    assert.is(await start('true', { forward: 'http://127.0.0.1:9/', max: 1 }).ended, 1);
    const stop = start('true', { forward: url, timeoutMs: 500 });
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.is(received.length, 2);
  }),
);

test('Retry-After is read as seconds or as a date, and is limited to an hour', () => {
  assert.is(retryAfterMs(null), undefined);
  assert.is(retryAfterMs('2'), 2_000);
  assert.is(retryAfterMs('0'), 100);
  assert.is(retryAfterMs('999999'), 3_600_000);
  for (const malformed of ['', 'soon', '-1', '1.5', '2026']) assert.ok(!((retryAfterMs(malformed) ?? 0) > 3_600_000), malformed);
  assert.is(retryAfterMs('soon'), undefined);
  const inTenSeconds = retryAfterMs(new Date(Date.now() + 10_000).toUTCString())!;
  assert.ok(inTenSeconds > 8_000 && inTenSeconds <= 10_000);
});

test.run();
