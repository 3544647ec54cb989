// limit: 240 s for this file (test/run.ts)
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { connectRunner, RetryLater } from '../../infra/runner/runner-client.ts';
import { deliveryOf, eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import type { AttemptReport } from '../fixtures/runner-service.ts';
import { KEY } from '../fixtures/runner-service.ts';
import { areAcknowledged, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const CANARY = 'canary-2b7e';
const RUNTIME = { credentials: [{ secret: `${CANARY}-credential` }], repo: { token: `${CANARY}-token` } };

/** Returns the first report about each delivery, by the index of the delivery: outcome, code and reason. */
const shown = (reports: readonly AttemptReport[], count: number) =>
  Array.from({ length: count }, (_, index) => {
    const { outcome, code, reason } = reports.find(({ delivery_id }) => delivery_id === deliveryOf(index))!;
    return [outcome, code, reason];
  });

const areReported = (reports: readonly AttemptReport[], count: number): boolean =>
  new Set(reports.map(({ delivery_id }) => delivery_id)).size === count;

test(
  'a runner with --exec reports exit code, signal and time limit with the end of stderr, and no secret of the runtime',
  withRunnerTest({}, async ({ nats, service, start }) => {
    service.runtime.content = RUNTIME;
    const script = `case "$ANNALS_DELIVERY_ID" in
      d-0) cat "$ANNALS_RUNTIME" >&2; echo "no model" >&2; exit 3;;
      d-1) echo "killed soon" >&2; kill -KILL $$;;
      d-2) sleep 60;;
    esac`;
    for (const index of [0, 1, 2]) await publish(nats, index);
    const stop = start(script, { timeoutMs: 1_000, concurrency: 3 });
    await waitUntil(() => areReported(service.reports, 3));
    await stop();
    assert.equal(shown(service.reports, 3), [
      ['failed', '3', 'the command ended with 3'],
      ['crashed', 'SIGKILL', 'the command ended with signal SIGKILL'],
      ['timed_out', null, 'the command ended with a timeout after 1 s'],
    ]);
    assert.not.match(JSON.stringify(service.reports), CANARY);
    const first = service.reports.find(({ delivery_id }) => delivery_id === deliveryOf(0))!;
    assert.match(first.stderr_tail!, /"secret":"\[secret\]"[\s\S]*no model\n$/);
    assert.equal([first.attempt, first.message_id, first.seconds >= 0], [1, eventIdOf(0), true]);
  }),
);

test(
  'a runner with --forward reports the status and the body of the answer, a lost connection and a missing answer',
  withRunnerTest({}, async ({ nats, service, start }) => {
    const server = createServer(async (request, response) => {
      const { providerid } = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as { providerid: string };
      if (providerid === 'd-0') response.writeHead(500).end(`the model is down, ${KEY}`);
      if (providerid === 'd-1') request.socket.destroy();
      if (providerid === 'd-3') response.writeHead(429, { 'retry-after': '60' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterTest(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const index of [0, 1, 2, 3]) await publish(nats, index);
    const stop = start('true', { forward: url, timeoutMs: 1_000, concurrency: 4 });
    await waitUntil(() => areReported(service.reports, 4));
    await stop();
    const [status, lost, missing, later] = shown(service.reports, 4);
    assert.equal(status, ['failed', '500', `${url} answers 500`]);
    assert.equal(lost!.slice(0, 2), ['crashed', 'UND_ERR_SOCKET']);
    assert.equal(missing!.slice(0, 2), ['timed_out', null]);
    assert.equal(later!.slice(0, 2), ['released', '429']);
    const { stderr_tail } = service.reports.find(({ code }) => code === '500')!;
    assert.is(stderr_tail, 'the model is down, [secret]');
  }),
);

test(
  'the typed client reports the error that a handler throws with its stack, without the secrets that it has read',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    service.runtime.content = RUNTIME;
    const control = new AbortController();
    const report = () => {};
    const runner = await connectRunner({ url: service.url, key: KEY, dir, signal: control.signal, report });
    for (const index of [0, 1, 2]) await publish(nats, index);
    const handle = async ({ providerid }: { providerid?: string }): Promise<void> => {
      const { repo } = await runner.runtime();
      if (providerid === 'd-0')
        throw Object.assign(new Error(`no access with ${repo?.token}`, { cause: new Error('refused') }), { code: 'E42' });
      if (providerid === 'd-1') throw new RetryLater(60_000, 'the model is busy');
      throw new DOMException('the model is too slow', 'TimeoutError');
    };
    const receiving = runner.receive(handle, { concurrency: 3 });
    await waitUntil(() => areReported(service.reports, 3));
    control.abort();
    await receiving;
    const [thrown, later, timeout] = shown(service.reports, 3);
    assert.equal(thrown, ['failed', 'E42', 'the handler failed (no access with [secret])']);
    assert.equal(later, ['released', null, 'the handler failed (the model is busy)']);
    assert.equal(timeout, ['timed_out', null, 'the handler failed (the model is too slow)']);
    assert.not.match(JSON.stringify(service.reports), CANARY);
    assert.match(service.reports.find(({ code }) => code === 'E42')!.stderr_tail!, /^Error: no access[\s\S]*\ncaused by Error: refused/);
  }),
);

test(
  'a service that does not accept reports delays neither the next attempt nor the acknowledgement',
  withRunnerTest({}, async ({ nats, service, start, lines }) => {
    await publish(nats, 0);
    const stop = start('echo $ANNALS_ATTEMPT >> out; test $ANNALS_DELIVERY_ID = d-0 || test $ANNALS_ATTEMPT -gt 1');
    await waitUntil(() => areAcknowledged(nats, 1));
    service.setOutage('unavailable');
    await publish(nats, 1);
    // A report is tried for ten seconds, so an acknowledgement that waited for it would come later.
    await waitUntil(() => areAcknowledged(nats, 2), 5_000);
    assert.equal(lines(), ['1', '1', '2']);
    assert.is(await stop(), 0);
    assert.equal([service.reports, service.refused.reports > 0], [[], true]);
  }),
);

test.run();
