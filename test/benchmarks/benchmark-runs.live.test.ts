import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import * as Benchmark from '../../domain/benchmarks/benchmark.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { SCORE_STREAM, scoreSubject } from '../../domain/runners/score-report.ts';
import { benchmarkRunner } from '../../infra/benchmarks/benchmark-runs.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { readDelivery } from '../../infra/deliveries/read-delivery.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { ensureConsumer, STREAM } from '../../infra/nats/jetstream.ts';
import { removeTenantMessages } from '../../infra/nats/remove-messages.ts';
import { startAcknowledgementRecorder } from '../../infra/relay/record-acknowledgements.ts';
import { startRelay } from '../../infra/relay/relay.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { benchmarkRuns } from '../../projections/benchmarks/benchmark-run.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { startNatsServer } from '../fixtures/nats-server.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANT = `c${'t'.repeat(24)}`;
const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
const [AGENT, OTHER, INACTIVE] = [idOf('agent'), idOf('other'), idOf('inactive')];
const START = Date.parse('2026-05-04T10:00:00.000Z');

const store = await startStore();
const log = openLog(store.url);
const databaseUrl = await freshDatabase();
const directory = createTempDirectory().dir;
const vault = await openVault({ log, masterKeyFile: join(directory, 'master.key') });
const blobs = openBlobStore(openDirectoryPlace(join(directory, 'blobs')), vault);
const broker = await startNatsServer();
const nats = await broker.connect();
const clock = { now: START };

const append = async (category: string, id: string, events: readonly DomainEvent[]): Promise<void> => {
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date(clock.now).toISOString(), v: 1 };
  const last = await log.last(`${category}-${TENANT}.${id}`);
  const appended = events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta }));
  await log.append(`${category}-${TENANT}.${id}`, last?.revision ?? 'none', appended);
};
const createAgent = (id: string): Promise<void> => {
  const settings = { name: 'A', slug: id, generation: 0, owner_id: null, is_seed: false, skill_visibility_scope: 'private_only' };
  return append('agent', id, Agent.create({ ...Agent.initial, ...settings } as never)());
};
await append('tenant', TENANT, [
  { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: idOf('plan'), billing_email: null, generation: 0 } },
]);
for (const id of [AGENT, OTHER, INACTIVE]) await createAgent(id);
await append('agent', INACTIVE, [{ type: 'AgentDeactivated', data: {} }]);

const platform = await startProjectionPlatform(log, databaseUrl, [benchmarkRuns, deliveries] as unknown as AnyProjection[]);
const warnings: { readonly source?: string; readonly count?: number }[] = [];
const logger = Object.assign(Object.create(silentLogger), { warn: (fields: object) => warnings.push(fields) }) as typeof silentLogger;
const opened = { vault: { open: async () => vault }, blobs: async () => blobs };
const services = { log, nats, databaseUrl, logger, now: () => clock.now, intervalMs: 50, ...opened };
const startRunner = () => startWorker([benchmarkRunner], services);
const workers = [startRunner(), startRunner()];
const relay = await startRelay({ log, nats, logger: silentLogger, publicUrl: 'https://annals.test', openEvent: vault.openEvent });
const recorder = startAcknowledgementRecorder({ log, nats, logger: silentLogger, intervalMs: 1_000 });
const until = (condition: () => boolean | Promise<boolean>): Promise<boolean> => waitUntil(String(condition), condition, (holds) => holds);
await until(() => relay.status().state === 'relaying');
for (const agent of [AGENT, OTHER]) await ensureConsumer(nats, TENANT, agent, { ackWaitMs: 5_000 });

let count = 0;
const queueRun = async (lines: readonly object[], agent_id = AGENT): Promise<string> => {
  const dataset = lines.map((line) => JSON.stringify(line)).join('\n');
  const { sha256: dataset_sha256 } = await blobs.of(TENANT).put(Buffer.from(dataset));
  const id = idOf(`run${count++}x`);
  const task_ids = lines.map((line, index) => (line as { id?: string }).id ?? String(index + 1));
  const { harness } = BenchmarkRun.initial;
  const fields = {
    ...{ benchmark_id: idOf('benchmark'), benchmark: 'sums', agent_id, harness, evaluator_strategy: 'exact' },
    ...{ evaluator_config: { field: 'answer' }, trajectory_builder: Benchmark.initial.trajectory_builder },
    ...{ dataset_uri: 'https://example.com/sums.jsonl', dataset_sha256, task_ids },
  };
  await append(BenchmarkRun.category, id, BenchmarkRun.queue(fields, new Date(clock.now).toISOString())(BenchmarkRun.initial));
  return id;
};

type Run = {
  status: string;
  score: number | null;
  error: string | null;
  tasks: { id: string; status: string; trajectory_sha256: string | null }[];
};
const runOf = async (id: string): Promise<Run> => {
  await waitForProjection(platform.reads, log, benchmarkRuns.name);
  const [row] = await query<{ doc: string }>(databaseUrl, 'select doc from benchmark_runs.runs where id = $1', [id]);
  return JSON.parse(row!.doc) as Run;
};
const ended = (id: string): Promise<boolean> => until(async () => /completed|failed/.test((await runOf(id)).status));
const eventsOf = async (id: string) => (await Array.fromAsync(log.read(`benchmarkrun-${TENANT}.${id}`))).map(({ type }) => type);

type Message = { readonly event: Record<string, unknown>; readonly reply: (how: 'ack' | 'term') => void };
/** Waits for the next message in the broker for this agent. */
const nextMessage = async (agent = AGENT): Promise<Message> => {
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(agent));
  for (;;) {
    const message = await consumer.next({ expires: 1_000 });
    if (message) return { event: message.json(), reply: (how) => message[how]() };
  }
};
const publish = (report: unknown, agent = AGENT) =>
  nats.jetstream().publish(scoreSubject(TENANT, agent), typeof report === 'string' ? report : JSON.stringify(report));
const waitingReports = async () => (await (await nats.jetstreamManager()).streams.info(SCORE_STREAM)).state.messages;

test('for a queued benchmark run, the agent gets one message with all tasks; the run is completed when all tasks have results', async () => {
  const id = await queueRun([{ id: 'a', prompt: '1 + 1' }, { prompt: '1 + 2' }]);
  const { event, reply } = await nextMessage();
  const rest = omit(event, 'id', 'time');
  assert.equal(rest, {
    ...{ specversion: '1.0', source: 'https://annals.test/benchmarks/sums', type: 'annals.benchmark.queued', subject: id },
    ...{ datacontenttype: 'application/json', tenant: TENANT, agent: AGENT, provider: 'benchmark', deliveryid: id, providerid: id },
    ...{ contenttrust: 'trusted', benchmark: 'sums' },
    data: {
      ...{ run_id: id, benchmark: 'sums', harness: 'claude_code', evaluator_strategy: 'exact', evaluator_config: { field: 'answer' } },
      ...{ trajectory_builder: 'prefix_merging', expires_at: '2026-05-05T10:00:00.000Z' },
      tasks: [
        { id: 'a', task: { id: 'a', prompt: '1 + 1' } },
        { id: '2', task: { prompt: '1 + 2' } },
      ],
    },
  });
  await publish({ run_id: id, task_id: 'a', score: 1, seconds: 2, trajectory: [{ role: 'assistant', content: '2' }] });
  await publish({ run_id: id, task_id: 'a', score: 0 });
  await until(async () => (await runOf(id)).status === 'running');
  await publish({ run_id: id, task_id: '2', error: 'The agent gave no answer' });
  await ended(id);
  reply('ack');
  const run = await runOf(id);
  assert.equal([run.status, run.score, run.error, run.tasks.map(({ status }) => status)], ['completed', 0.5, null, ['scored', 'failed']]);
  const blob = await blobs.of(TENANT).get(run.tasks[0]!.trajectory_sha256!);
  assert.is(Buffer.concat(await Array.fromAsync(blob!.content)).toString(), '[{"role":"assistant","content":"2"}]');
  assert.equal(await eventsOf(id), ['BenchmarkRunQueued', 'BenchmarkTaskScored', 'BenchmarkTaskScored', 'BenchmarkRunFinished']);
  assert.is(await waitingReports(), 0);
});

test('if the message of a benchmark run is acknowledged before all tasks have results, the results published until then are recorded, and the run fails', async () => {
  const id = await queueRun([{ id: 'a' }, { id: 'b' }]);
  const { reply } = await nextMessage();
  await publish({ run_id: id, task_id: 'b', score: 1 });
  reply('ack');
  await ended(id);
  const run = await runOf(id);
  assert.equal([run.status, run.score, run.tasks.map(({ status }) => status)], ['failed', null, ['pending', 'scored']]);
  assert.match(run.error!, /acknowledged the run without a result/);
  await publish({ run_id: id, task_id: 'a', score: 1 });
  const next = await queueRun([{ id: 'a' }]);
  (await nextMessage()).reply('term');
  await ended(next);
  assert.match((await runOf(next)).error!, /given up/);
  assert.is((await eventsOf(id)).at(-1), 'BenchmarkRunFinished', 'a late result is not recorded');
  await publish({ run_id: next, task_id: 'a', score: 1 });
  await until(async () => (await waitingReports()) === 0);
});

test('benchmark results for unknown runs or tasks, from other agents or in a wrong form are ignored, and results that arrive after them are still recorded', async () => {
  const id = await queueRun([{ id: 'a' }]);
  const { reply } = await nextMessage();
  await publish({ run_id: id, task_id: 'a', score: 0.25 }, OTHER);
  await publish({ run_id: idOf('missing'), task_id: 'a', score: 1 });
  await publish({ run_id: id, task_id: 'b', score: 1 });
  const wrong: Record<string, unknown>[] = [
    {},
    { score: 2 },
    { score: -0.1 },
    { score: 1, error: 'both' },
    { score: '1' },
    { score: 1, more: 1 },
  ];
  for (const fields of wrong) await publish({ run_id: id, task_id: 'a', ...fields });
  for (const text of ['', 'no JSON', '[]', 'null']) await publish(text);
  await publish({ run_id: id, task_id: 'a', score: 1 });
  await ended(id);
  reply('ack');
  assert.equal([(await runOf(id)).score, await waitingReports()], [1, 0]);
});

test('a flood of results by an agent without an open run is removed without a log line for each of them', async () => {
  await Promise.all(Array.from({ length: 900 }, () => publish('no JSON', OTHER)));
  await until(async () => (await waitingReports()) === 0);
  const lines = warnings.filter(({ source }) => source === scoreSubject(TENANT, OTHER));
  assert.equal(
    lines.map(({ count }) => count),
    [1],
  );
});

test('a benchmark run of an inactive agent fails, and no message is sent to the agent', async () => {
  const id = await queueRun([{ id: 'a' }], INACTIVE);
  await ended(id);
  assert.equal([(await runOf(id)).error, await log.last(`delivery-${TENANT}.${id}`)], ['The agent is inactive or deleted', null]);
});

test('the message of a large benchmark run does not contain the tasks, but refers to a stored body with all tasks', async () => {
  const lines = Array.from({ length: 1_000 }, (_, task) => ({ id: `task-${task}`, prompt: 'x'.repeat(2_000) }));
  const id = await queueRun(lines);
  const { event, reply } = await nextMessage();
  assert.is(event.dataref, `https://annals.test/tenant/${TENANT}/deliveries/${id}/body`);
  const { body } = (await readDelivery({ log, vault, logger: silentLogger })(TENANT, id))!;
  const bytes = Buffer.concat(await Array.fromAsync(body as AsyncIterable<Uint8Array>));
  assert.equal(JSON.parse(bytes.toString()).tasks.at(-1), { id: 'task-999', task: lines.at(-1) });
  for (const { id: task_id } of lines) await publish({ run_id: id, task_id, score: 0.5, seconds: 1 });
  await ended(id);
  reply('ack');
  assert.equal([(await runOf(id)).score, (await eventsOf(id)).length], [0.5, 1_002]);
});

test('a benchmark run that has not ended after 24 hours fails', async () => {
  const id = await queueRun([{ id: 'a' }]);
  const { reply } = await nextMessage();
  await publish({ run_id: id, task_id: 'unknown', score: 1 });
  clock.now += 86_400_000 - 1;
  await until(async () => (await waitingReports()) === 0);
  assert.is((await runOf(id)).status, 'queued');
  clock.now += 1;
  await ended(id);
  reply('ack');
  assert.match((await runOf(id)).error!, /24 hours/);
});

test('after a tenant is erased, its unrecorded benchmark results are removed from the broker, and the results of other tenants stay there', async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  const other = idOf('elsewhere');
  await publish({ run_id: idOf('any'), task_id: 'a', score: 1 });
  await nats.jetstream().publish(scoreSubject(other, AGENT), '{}');
  await removeTenantMessages(nats, TENANT);
  assert.is(await waitingReports(), 1);
});

afterLastTest(async () => {
  await Promise.all([...workers, relay, recorder].map((each) => each.close()));
  await platform.close();
  await broker.close();
  await log.close();
  await store.end();
});

test.run();
