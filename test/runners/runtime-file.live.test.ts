// limit: 240 s for this file (test/run.ts)
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { apiClient } from '../../infra/runner/api-client.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';
import { openRuntimeFiles } from '../../infra/runner/runtime-files.ts';
import { runtimeSource } from '../../infra/runner/runtime-source.ts';
import { findProcess } from '../../infra/supervision/os-process.ts';
import { withTempDirectory } from '../fixtures/child-process.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { KEY, type runnerService } from '../fixtures/runner-service.ts';
import { areAcknowledged, publish, withRunnerTest } from '../fixtures/runner-test.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const filesIn = (dir: string): string[] => readdirSync(join(dir, 'runtime'));

test(
  'a command finds the runtime of its agent in a file that only its owner can read, and the file is removed afterwards',
  withRunnerTest({}, async ({ nats, start, lines, dir, service }) => {
    await publish(nats, 0);
    const stop = start(
      'stat -c %a "$ANNALS_RUNTIME" >> out; stat -c %a runtime >> out; cat "$ANNALS_RUNTIME" >> out; echo >> out; pwd >> out',
    );
    await waitUntil(() => areAcknowledged(nats, 1));
    await stop();
    assert.equal(lines().slice(0, 3), ['600', '700', '{"version":1}']);
    assert.equal([filesIn(dir), service.runtime.reads], [[], 1]);
  }),
);

test(
  'a runner reads the runtime of its agent again only if it has changed; while the service is down, runs get the last runtime that was read',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
    const stop = start('cat "$ANNALS_RUNTIME" >> out; echo >> out');
    for (const index of [0, 1]) await publish(nats, index);
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.is(service.runtime.reads, 1);
    service.runtime.version = 2;
    await publish(nats, 2);
    await waitUntil(() => areAcknowledged(nats, 3));
    service.setOutage('unavailable');
    service.runtime.version = 3;
    await publish(nats, 3);
    await waitUntil(() => areAcknowledged(nats, 4));
    service.setOutage(null);
    await publish(nats, 4);
    await waitUntil(() => areAcknowledged(nats, 5));
    await stop();
    assert.equal(
      lines().map((line) => JSON.parse(line).version),
      [1, 1, 2, 2, 3],
    );
  }),
);

test(
  'if the service does not send the runtime of an agent in time, a command gets the last one that was read',
  withRunnerTest({}, async ({ nats, start, lines, service }) => {
    start('cat "$ANNALS_RUNTIME" >> out; echo >> out');
    await publish(nats, 0);
    await waitUntil(() => areAcknowledged(nats, 1));
    service.setOutage('silent');
    const startedAt = performance.now();
    await publish(nats, 1);
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.ok(performance.now() - startedAt < 12_000, 'a request to the service has a time limit of 15 s');
    assert.is(lines().length, 2);
  }),
);

/**
 * Opens the runtime as a runner does. `run` returns the version in the file of a run. The service answers each request at
 * once, but the answer arrives only when `arrive` is called with the number of the request, from 0.
 */
const openSlowRuntime = async ({ url }: Awaited<ReturnType<typeof runnerService>>, dir: string) => {
  const api = apiClient({ url, key: KEY, outage: createOutageReport(() => {}, '') });
  const answers: { readonly answer: Promise<unknown>; readonly arrive: () => void }[] = [];
  const fetch: typeof api.runtime = async (agent, known) => {
    const answer = api.runtime(agent, known);
    const arrival = Promise.withResolvers<void>();
    answers.push({ answer, arrive: arrival.resolve });
    await Promise.allSettled([answer, arrival.promise]);
    return answer;
  };
  const ending = new AbortController();
  afterTest(() => ending.abort());
  const files = openRuntimeFiles(join(dir, 'runtime'));
  const source = runtimeSource({ agent: await api.find('triage'), fetch, files, report: () => {}, stop: ending.signal });
  const run = (): Promise<number> =>
    source.withVariables(async ({ ANNALS_RUNTIME }) => JSON.parse(readFileSync(ANNALS_RUNTIME!, 'utf8')).version as number);
  const arrive = async (request: number): Promise<void> => {
    await waitUntil(() => answers.length > request);
    await answers[request]!.answer.catch(() => {});
    answers[request]!.arrive();
    await sleep(50);
  };
  return { run, arrive, requests: () => answers.length };
};

for (const [late, outage] of [
  ['answer', null],
  ['failure', 'unavailable'],
] as const)
  test(
    `a late ${late} of the service does not replace a newer runtime with an older one`,
    withRunnerTest({}, async ({ service, dir }) => {
      const { run, arrive, requests } = await openSlowRuntime(service, dir);
      const versions = [run()];
      await arrive(0);
      service.setOutage(outage);
      assert.is(await run(), 1);
      service.setOutage(null);
      service.runtime.version = 2;
      versions.push(run());
      await arrive(2);
      await arrive(1);
      service.setOutage('unavailable');
      versions.push(run());
      await arrive(3);
      assert.equal([await Promise.all(versions), requests()], [[1, 2, 2], 4]);
    }),
  );

test(
  'after a late refusal of the service, no further run gets the last runtime',
  withRunnerTest({}, async ({ service, dir }) => {
    const { run, arrive } = await openSlowRuntime(service, dir);
    const first = run();
    await arrive(0);
    service.runtime.isRefused = true;
    assert.equal([await first, await run()], [1, 1]);
    await arrive(1);
    const refused = run().catch((error: Error) => error.message);
    await sleep(2_500);
    await arrive(2);
    assert.match(String(await refused), 'may not read the runtime');
    service.runtime.isRefused = false;
    const last = run();
    await arrive(3);
    assert.is(await last, 1);
  }),
);

test(
  'runs that start at the same time ask a slow service for the runtime only once',
  withRunnerTest({}, async ({ service, dir }) => {
    const { run, arrive, requests } = await openSlowRuntime(service, dir);
    const runs = (): Promise<number[]> => Promise.all(Array.from({ length: 10 }, run));
    const first = runs();
    await arrive(0);
    assert.equal([new Set(await first), new Set(await runs()), requests()], [new Set([1]), new Set([1]), 2]);
  }),
);

test(
  'the runtime file is removed after a command that fails, and after the runner gets SIGTERM',
  withRunnerTest({}, async ({ nats, start, startProcess, lines, dir }) => {
    await publish(nats, 0);
    assert.is(await start('echo failed >> out; exit 3', { max: 1 }).ended, 1);
    assert.equal([lines(), filesIn(dir)], [['failed'], []]);
    const spawned = startProcess('echo "$ANNALS_RUNTIME" >> paths; sleep 2');
    await waitUntil(() => lines('paths').length === 1);
    assert.ok(existsSync(lines('paths')[0]!));
    spawned.kill('SIGTERM');
    assert.is(await spawned.exited, 0);
    assert.equal(filesIn(dir), []);
  }),
);

test(
  'when a runner starts, it removes the runtime files of a killed runner, but not those of a running one',
  withRunnerTest({ ackWaitMs: 60_000 }, async ({ nats, startProcess, lines, dir }) => {
    for (const index of [0, 1]) await publish(nats, index);
    const killed = startProcess('echo "$ANNALS_RUNTIME" >> paths; sleep 60');
    await waitUntil(() => lines('paths').length === 1);
    const running = startProcess('echo "$ANNALS_RUNTIME" >> paths; sleep 60');
    await waitUntil(() => lines('paths').length === 2);
    killed.kill('SIGKILL');
    await killed.exited;
    const [left, kept] = lines('paths') as [string, string];
    assert.equal([existsSync(left), existsSync(kept)], [true, true]);
    const next = startProcess('true');
    await waitUntil(() => next.output().includes('waiting for deliveries'));
    assert.equal([existsSync(left), existsSync(kept)], [false, true]);
    next.kill('SIGTERM');
    await next.exited;
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGTERM'] as const) {
      running.kill(signal);
      await sleep(200);
    }
    await running.exited;
    assert.equal(filesIn(dir), []);
  }),
);

test('the runtime file of an ended process is removed even if a new process has the same pid; other files are kept', () =>
  withTempDirectory(async (dir) => {
    mkdirSync(join(dir, 'files'));
    const { start } = findProcess(process.pid)!;
    const own = `${process.pid}.${start.replace(/[^A-Za-z0-9]/g, '')}.1000000.runtime.json`;
    for (const name of [own, `${process.pid}.1.1.runtime.json`, '999999999.1.1.runtime.json', 'other.json'])
      writeFileSync(join(dir, 'files', name), '{}');
    openRuntimeFiles(join(dir, 'files'));
    assert.equal(readdirSync(join(dir, 'files')).sort(), [own, 'other.json'].sort());
  }));

test.run();
