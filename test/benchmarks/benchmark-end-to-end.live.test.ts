// limit: 240 s for this file (test/run.ts)
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner, Refusal, type RunnerEvent } from '../../infra/runner/runner-client.ts';
import { expectReply } from '../faults/running-platform.ts';
import { type Agent, createDataset } from '../faults/tenants.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { bareEnvironment, eventually, mainFile, root, startProgram } from '../fixtures/child-process.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { runningPlatform, type SharedPlatform } from '../fixtures/running-platform.ts';

/** The dataset that a local HTTP server hosts for this test. */
const DATASET = readFileSync(join(root, 'test/fixtures/sums.jsonl'));
const host = createServer((_, response) => response.writeHead(200).end(DATASET));
const withPlatform = runningPlatform();

type Task = {
  id: string;
  status: string;
  score: number | null;
  seconds: number | null;
  error: string | null;
  trajectory_sha256: string | null;
};
type Run = { id: string; status: string; score: number | null; error: string | null; tasks: Task[] };

const newAgent = async (platform: SharedPlatform): Promise<Agent> =>
  (await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 })).agents[0]!;

const createBenchmark = async (platform: SharedPlatform, slug: string): Promise<void> => {
  const { target } = platform.ports;
  if (!host.listening) await new Promise<void>((resolve) => host.listen(target, '127.0.0.1', resolve));
  const dataset_uri = `http://127.0.0.1:${target}/sums.jsonl`;
  const fields = { slug, display_name: 'Sums', dataset_uri, evaluator_strategy: 'exact_match', default_harness: 'shell' };
  await expectReply(platform.call('POST', '/benchmarks', fields));
};
const queueRun = (platform: SharedPlatform, { tenant, id }: Agent, benchmark: string): Promise<Run> =>
  expectReply<Run>(platform.call('POST', `/tenant/${tenant.id}/benchmark-runs`, { benchmark, agent_id: id }, tenant), 202);

const runOf = async (platform: SharedPlatform, { tenant }: Agent, id: string): Promise<Run | undefined> => {
  const runs = await expectReply<Run[]>(platform.call('GET', `/tenant/${tenant.id}/benchmark-runs`, undefined, tenant), 200);
  return runs.find((run) => run.id === id);
};
/** The broker gives the message of a killed runner to the next one only after 30 seconds. */
const END_TIMEOUT_S = 90;
const hasEnded = (run: Run | undefined): boolean => /completed|failed/.test(run?.status ?? '');
const endedRun = async (platform: SharedPlatform, agent: Agent, id: string): Promise<Run> =>
  (await waitUntil('the end of the run', () => runOf(platform, agent, id), hasEnded, END_TIMEOUT_S))!;

const startRunner = (platform: SharedPlatform, agent: Agent, ...args: string[]) => {
  const ANNALS_DATA = join(platform.dir, `runner-${agent.tenant.id}`);
  const env = { ...bareEnvironment(), ANNALS_URL: platform.url, ANNALS_KEY: agent.runnerKey, ANNALS_DATA };
  const program = startProgram(process.execPath, [mainFile, 'runner', '--agent', agent.slug, ...args], { env });
  platform.stopOnClose(program);
  return program;
};
const COMMAND = `${process.execPath} ${join(root, 'test/fixtures/benchmark-agent.mjs')}`;
const SCORES = [
  ['one', 'scored', 1, 0.25],
  ['two', 'scored', 1, 0.25],
  ['4', 'scored', 1, 0.25],
  ['wrong', 'scored', 0, 0.25],
];
const scoresOf = ({ tasks }: Run) => tasks.map(({ id, status, score, seconds }) => [id, status, score, seconds]);

test('a runner executes a benchmark run with its command, and the platform stores the scores and trajectories that the command returns', () =>
  withPlatform(async (platform) => {
    const agent = await newAgent(platform);
    await createBenchmark(platform, 'sums');
    const { id, status } = await queueRun(platform, agent, 'sums');
    assert.is(status, 'queued');
    startRunner(platform, agent, '--exec', COMMAND);
    const run = await endedRun(platform, agent, id);
    assert.equal([run.status, run.score, run.error], ['completed', 0.75, null]);
    assert.equal(scoresOf(run), SCORES);
    const path = `/tenant/${agent.tenant.id}/files/${run.tasks[1]!.trajectory_sha256}`;
    assert.is((await platform.call('GET', path, undefined, agent.tenant)).text, '[{"role":"assistant","content":"42"}]');
    await eventually('the delivery of the run is done', async () => {
      const { text } = await platform.call('GET', `/tenant/${agent.tenant.id}/deliveries/${id}`, undefined, agent.tenant);
      const { provider, status: shown, payload } = JSON.parse(text);
      return provider === 'benchmark' && shown === 'done' && payload.tasks.length === 4;
    });
  }));

test('if a runner is killed during a benchmark run, the next runner continues the run, and each task of the run gets exactly one result', () =>
  withPlatform(async (platform) => {
    const agent = await newAgent(platform);
    await createBenchmark(platform, 'killed-sums');
    const mark = join(platform.dir, 'hangs');
    const { id } = await queueRun(platform, agent, 'killed-sums');
    const first = startRunner(platform, agent, '--exec', `${COMMAND} hang ${mark}`);
    await eventually('the first result is shown', async () => (await runOf(platform, agent, id))?.status === 'running').finally(() =>
      first.child.kill('SIGKILL'),
    );
    assert.ok(existsSync(mark));
    startRunner(platform, agent, '--exec', `${COMMAND} hang ${mark}`);
    const run = await endedRun(platform, agent, id);
    assert.equal([run.status, run.score], ['completed', 0.75]);
    assert.equal(scoresOf(run), SCORES);
    const log = platform.openLog();
    const types = (await Array.fromAsync(log.read(`benchmarkrun-${agent.tenant.id}.${id}`))).map(({ type }) => type);
    await log.close();
    assert.equal(types, ['BenchmarkRunQueued', ...Array(4).fill('BenchmarkTaskScored'), 'BenchmarkRunFinished']);
  }));

test('a program that uses the typed client reports benchmark results, and gets an error for each result that is invalid', () =>
  withPlatform(async (platform) => {
    const agent = await newAgent(platform);
    await createBenchmark(platform, 'client-sums');
    const control = new AbortController();
    const options = {
      url: platform.url,
      key: agent.runnerKey,
      dir: join(platform.dir, 'client'),
      signal: control.signal,
      report: () => {},
    };
    const runner = await connectRunner(options);
    const refusals: string[] = [];
    const receiving = runner.receive(async ({ type, data }: RunnerEvent, { reportResult }) => {
      assert.is(type, 'annals.benchmark.queued');
      const { tasks } = data as { tasks: { id: string }[] };
      for (const wrong of [
        { task_id: 'one' },
        { task_id: 'one', score: 2 },
        { task_id: 'one', score: 1, trajectory: 'x'.repeat(1_000_000) },
      ]) {
        const error = await reportResult(wrong).catch((refusal: Refusal) => refusal);
        assert.instance(error, Refusal);
        refusals.push((error as Refusal).code);
      }
      for (const { id } of tasks)
        await reportResult(id === 'wrong' ? { task_id: id, error: 'It cannot be solved' } : { task_id: id, score: 0.5 });
    });
    const run = await endedRun(platform, agent, (await queueRun(platform, agent, 'client-sums')).id);
    assert.equal([run.status, run.score, run.tasks[3]!.error], ['completed', 0.375, 'It cannot be solved']);
    assert.equal(refusals, ['invalid', 'invalid', 'too_large']);
    control.abort();
    await receiving;
  }));

test('a server to which runs are posted answers with the results; after an invalid line, the run is posted again', () =>
  withPlatform(async (platform) => {
    const agent = await newAgent(platform);
    await createBenchmark(platform, 'forward-sums');
    let posts = 0;
    const server = createServer(async (request, response) => {
      const { data } = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as { data: { tasks: { id: string }[] } };
      const lines = data.tasks.map(({ id }) => JSON.stringify({ task_id: id, score: ++posts > 4 ? 1 : id === 'wrong' ? 7 : 1 }));
      response.writeHead(200, { 'content-type': 'application/jsonl' }).end(lines.join('\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const runner = startRunner(platform, agent, '--forward', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const run = await endedRun(platform, agent, (await queueRun(platform, agent, 'forward-sums')).id);
    assert.equal([run.status, run.score], ['completed', 1]);
    assert.match(runner.output(), /answers with a line that is not a valid result: .*\/score/);
    server.close();
  }));

afterLastTest(() => {
  host.close();
});

test.run();
