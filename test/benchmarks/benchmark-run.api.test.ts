import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { createDatasetClient } from '../../infra/benchmarks/dataset-client.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Run = Json & { id: string; tasks: Json[] };

/** The responses of the local server that hosts the datasets, by the path of the request. */
const answers: Record<string, { readonly status: number; readonly body: string }> = {};
let requests = 0;
const host = createServer(({ url }, response) => {
  requests++;
  const { status, body } = answers[url!] ?? { status: 404, body: '' };
  response.writeHead(status).end(body);
});
await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
const { port } = host.address() as AddressInfo;
const client = createGuardedClient({ allow: [`127.0.0.1:${port}`] });
const p = await createTestPlatform({ datasets: createDatasetClient(client) });

let count = 0;
const newAgent = async (more: Json = {}): Promise<string> => {
  const { body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `agent-${count++}`, ...more } });
  return (body as Json).id as string;
};
const LINES = '{"id":"a","prompt":"1 + 1","expected":"2"}\n{"id":"b","prompt":"1 + 2"}\n{"prompt":"third line"}\n';
const newBenchmark = async (content = LINES, more: Json = {}, status = 200): Promise<string> => {
  const slug = `benchmark-${count++}`;
  answers[`/${slug}`] = { status, body: content };
  const fields = { slug, display_name: 'B', dataset_uri: `http://127.0.0.1:${port}/${slug}`, evaluator_strategy: 'exact' };
  const made = await p.send('POST', '/benchmarks', { body: { ...fields, ...more } });
  assert.is(made.status, 201, made.text);
  return slug;
};
const queue = (body: Json, options: { key?: string; headers?: Record<string, string> } = {}) =>
  p.send('POST', `${p.tenant}/benchmark-runs`, { body, ...options });
const list = async (query = '', key = p.key) => (await p.send('GET', `${p.tenant}/benchmark-runs${query}`, { key })).body as Run[];
const queued = async (body: Json): Promise<Run> => {
  const { status, body: run, text } = await queue(body);
  assert.is(status, 202, text);
  return run as Run;
};
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { errors?: { code: string }[]; code: string }).errors?.[0]?.code ?? (body as { code: string }).code,
];
const PENDING = { status: 'pending', score: null, seconds: null, error: null, trajectory_sha256: null };

test("a new benchmark run is queued with all tasks of the dataset, in the order of the dataset's lines, and appears in the list of runs", async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark()];
  const run = await queued({ benchmark, agent_id });
  const { id, benchmark_id, created_at, updated_at, expires_at, ...rest } = run;
  assert.equal(rest, {
    tenant_id: p.tenant_id,
    benchmark,
    agent_id,
    harness: 'claude_code',
    dataset_sha256: hash('sha256', LINES, 'hex'),
    status: 'queued',
    score: null,
    error: null,
    finished_at: null,
    tasks: ['a', 'b', '3'].map((task) => ({ id: task, ...PENDING })),
  });
  assert.is(Date.parse(expires_at as string) - Date.parse(created_at as string), 86_400_000);
  assert.equal((await list(`?agent_id=${agent_id}`))[0], run);
  const event = p.eventsOf('BenchmarkRunQueued').at(-1)!;
  assert.equal([event.id, (event.data as Json).benchmark_id], [id, benchmark_id]);
});

test('a benchmark run has the tasks and the harness with which it is started; an unknown or repeated task gets 422', async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark()];
  const run = await queued({ benchmark, agent_id, tasks: ['3', 'a'], harness: 'shell' });
  assert.equal([run.tasks.map(({ id }) => id), run.harness], [['a', '3'], 'shell']);
  assert.equal(codeOf(await queue({ benchmark, agent_id, tasks: ['a', 'missing'] })), [422, 'unknown_task']);
  for (const wrong of [{ tasks: [] }, { tasks: ['a', 'a'] }, { tasks: 'a' }, { harness: 'vim' }, { more: 1 }, { benchmark: 'No Slug' }])
    assert.is((await queue({ benchmark, agent_id, ...wrong })).status, 422, JSON.stringify(wrong));
});

test('starting a benchmark run gets 422 if the benchmark does not exist or is retired, and 409 if the benchmark or the agent is inactive', async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark()];
  assert.equal(codeOf(await queue({ benchmark: 'missing', agent_id })), [422, 'unknown_benchmark']);
  await p.send('PATCH', `/benchmarks/${benchmark}`, { body: { is_active: false } });
  assert.equal(codeOf(await queue({ benchmark, agent_id })), [409, 'benchmark_inactive']);
  await p.send('DELETE', `/benchmarks/${benchmark}`);
  assert.equal(codeOf(await queue({ benchmark, agent_id })), [422, 'unknown_benchmark']);
  const other = await newBenchmark();
  await p.send('PATCH', `${p.tenant}/agents/${agent_id}`, { body: { is_active: false } });
  assert.equal(codeOf(await queue({ benchmark: other, agent_id })), [409, 'agent_inactive']);
});

test('if the host does not return the dataset, or the dataset is not JSON Lines, starting a benchmark run is refused and nothing is queued', async () => {
  const agent_id = await newAgent();
  const events = p.eventsOf('BenchmarkRunQueued').length;
  const refused = async (benchmark: string) => codeOf(await queue({ benchmark, agent_id }));
  assert.equal(await refused(await newBenchmark('', {}, 500)), [502, 'bad_gateway']);
  assert.equal(await refused(await newBenchmark('no JSON')), [422, 'malformed_dataset']);
  assert.equal(await refused(await newBenchmark('{}\n'.repeat(1_001))), [422, 'too_many_tasks']);
  assert.equal(await refused(await newBenchmark('x'.repeat(8 * 1024 * 1024 + 1))), [502, 'bad_gateway']);
  for (const dataset_uri of ['tasks', 'ftp://example.com/a', 'http://example.com/a', 'https://127.0.0.2/a', 'https://u:p@example.com/'])
    assert.equal(await refused(await newBenchmark(LINES, { dataset_uri })), [422, 'forbidden_url'], dataset_uri);
  const slug = await newBenchmark();
  await p.send('PATCH', `/benchmarks/${slug}`, { body: { dataset_uri: 'https://annals-test.invalid/a' } });
  assert.equal(await refused(slug), [503, 'unavailable']);
  assert.is(p.eventsOf('BenchmarkRunQueued').length, events);
});

test('for a dataset with more than 1,000 tasks, a benchmark run can be started with a list of some of the tasks', async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark('{}\n'.repeat(10_000))];
  const run = await queued({ benchmark, agent_id, tasks: ['10000', '1'] });
  assert.equal(
    run.tasks.map(({ id }) => id),
    ['1', '10000'],
  );
});

test("an uploaded dataset is read from the platform's file store, even if the run belongs to another tenant", async () => {
  const agent = await newAgent();
  const session = ((await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { body: {} })).body as Json).id;
  const raw = formBody({ name: 'upload', filename: 'tasks.jsonl', content: LINES });
  const headers = { 'content-type': FORM_TYPE };
  const { url } = (await p.send('POST', `${p.tenant}/sessions/${session}/attachments`, { raw, headers })).body as { url: string };
  const benchmark = await newBenchmark('', { dataset_uri: url });
  const other = await createSecondTenant(p, 'other');
  const theirs = (await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'T', slug: 't' } })).body as Json;
  const before = requests;
  const body = { benchmark, agent_id: theirs.id };
  const run = await p.send('POST', `${other.tenant}/benchmark-runs`, { key: other.key, body });
  assert.equal([run.status, (run.body as Run).tasks.length], [202, 3]);
  assert.is(requests, before);
  assert.is((await p.send('GET', `${other.tenant}/files/${(run.body as Run).dataset_sha256}`, { key: other.key })).text, LINES);
  assert.equal(
    (await list()).filter(({ benchmark: slug }) => slug === benchmark),
    [],
    'the run is not in the list of another tenant',
  );
});

test('repeating a request for a benchmark run with the same Idempotency-Key queues no second run and does not read the dataset again', async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark()];
  const headers = { 'idempotency-key': `run-${count++}` };
  const first = await queue({ benchmark, agent_id }, { headers });
  const [events, before] = [p.eventsOf('BenchmarkRunQueued').length, requests];
  await p.send('PATCH', `${p.tenant}/agents/${agent_id}`, { body: { is_active: false } });
  assert.equal((await queue({ benchmark, agent_id }, { headers })).body, first.body);
  assert.equal([p.eventsOf('BenchmarkRunQueued').length, requests], [events, before]);
});

test('queuing a benchmark run needs the permission agent:assign on the agent; the list contains only runs of agents that the caller may read', async () => {
  const [agent_id, hidden, benchmark] = [await newAgent(), await newAgent(), await newBenchmark()];
  const run = await queued({ benchmark, agent_id });
  await queued({ benchmark, agent_id: hidden });
  const [reader, auditor] = [await addMember(p, 'MEMBER'), await addMember(p, 'AUDITOR', p.tenant_id, 'auditor@example.com')];
  assert.equal(await list('', reader.key), []);
  assert.is((await queue({ benchmark, agent_id }, { key: reader.key })).status, 404);
  await p.send('PUT', `${p.tenant}/agents/${agent_id}/roles/${reader.user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await queue({ benchmark, agent_id }, { key: reader.key })).status, 403);
  assert.equal(await list('', reader.key), [run]);
  assert.is((await list(`?benchmark=${benchmark}`, auditor.key)).length, 2);
  await p.send('PUT', `${p.tenant}/agents/${agent_id}/roles/${reader.user_id}`, { body: { role: 'MANAGER' } });
  assert.is((await queue({ benchmark, agent_id }, { key: reader.key })).status, 202);
});

test('a benchmark run shows the results of its tasks; when the last result arrives, the run is completed, and its score is the mean of the scores', async () => {
  const [agent_id, benchmark] = [await newAgent(), await newBenchmark()];
  const { id } = await queued({ benchmark, agent_id });
  const ctx = p.systemContext(p.tenant_id);
  const score = (task: string, more: Partial<BenchmarkRun.TaskResult>, of = agent_id) =>
    ctx.transact(
      BenchmarkRun,
      id,
      BenchmarkRun.scoreTasks(of, [{ task_id: task, score: null, seconds: null, error: null, trajectory_sha256: null, ...more }]),
    );
  const shown = async () => {
    await p.waitForProjections();
    return (await list(`?agent_id=${agent_id}`)).find((run) => run.id === id)!;
  };
  const { sha256 } = await p.blobs.of(p.tenant_id).put(Buffer.from('["steps"]'));
  await score('b', { score: 0.75, seconds: 1.5, trajectory_sha256: sha256 });
  await score('b', { score: 0 });
  await score('unknown', { score: 0 });
  await score('a', { score: 0 }, await newAgent());
  const running = await shown();
  assert.equal([running.status, running.score], ['running', null]);
  assert.equal(running.tasks, [
    { id: 'a', ...PENDING },
    { id: 'b', status: 'scored', score: 0.75, seconds: 1.5, error: null, trajectory_sha256: sha256 },
    { id: '3', ...PENDING },
  ]);
  await score('a', { error: 'no answer' });
  await score('3', { score: 0.75, seconds: 3 });
  const completed = await shown();
  assert.equal([completed.status, completed.score, completed.error], ['completed', 0.5, null]);
  assert.equal(completed.tasks[0], { id: 'a', ...PENDING, status: 'failed', error: 'no answer' });
  assert.ok(completed.finished_at);
  assert.equal(
    (await list('?status=completed')).map((run) => run.id),
    [id],
  );
  const file = await p.send('GET', `${p.tenant}/files/${sha256}`);
  assert.equal([file.status, file.text], [200, '["steps"]']);
  const { key, user_id } = await addMember(p, 'MEMBER', p.tenant_id, `m${count++}@example.com`);
  assert.is((await p.send('GET', `${p.tenant}/files/${sha256}`, { key })).status, 404);
  await p.send('PUT', `${p.tenant}/agents/${agent_id}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await p.send('GET', `${p.tenant}/files/${sha256}`, { key })).status, 200);
});

afterLastTest(async () => {
  await p.close();
  await client.close();
  host.close();
});

test.run();
