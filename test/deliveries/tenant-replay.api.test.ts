import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import { omit } from '../../domain/omit.ts';
import { advanceReplays } from '../../infra/deliveries/replay-deliveries.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';
import { replayerOf } from '../fixtures/without-releases.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const agent = await created('agents', { name: 'Reviewer', slug: 'reviewer' });
const other = await created('agents', { name: 'Other', slug: 'other' });
const hookOf = (agent_id: string) =>
  created('webhook-integrations', { provider: 'github', agent_id, label: 'Code', secret: SECRET, event_filter: ['push', 'issues'] });
const [first, second] = [await hookOf(agent), await hookOf(other)];

let sent = 0;
const deliver = async (hook: string, event = 'push'): Promise<string> => {
  const raw = `{"n":${sent}}`;
  const headers = { 'x-github-delivery': `d-${sent++}`, 'x-github-event': event, 'x-hub-signature-256': sign(raw) };
  return String(((await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers })).body as Json).id);
};
const replay = (body: Json = {}) => p.send('POST', `${p.tenant}/deliveries/replay`, { body });
const now = () => new Date().toISOString();
const jobOf = async (id: unknown): Promise<Json> => (await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json;
const runAll = async (): Promise<void> => {
  await p.waitForProjections();
  while (await advanceReplays(replayerOf(p.log), await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
};
const requeued = () => p.eventsOf('DeliveryRequeued').map(({ id, data }) => [id, (data as Json).agent_id]);
const totalOf = async (body: Json) => {
  const answer = await replay({ ...body, dry_run: true });
  assert.is(answer.status, 202, answer.text);
  return (answer.body as Json).total;
};

const pushes = [await deliver(first), await deliver(first), await deliver(second)];
const issue = await deliver(first, 'issues');
await deliver(first, 'ping');
await deliver(second, 'ping');

test('a replay of a tenant sends what matched when it was requested, of all integrations, and nothing that arrives later', async () => {
  const answer = await replay({ event: 'push' });
  assert.is(answer.status, 202, answer.text);
  const { id, total, status } = answer.body as Json;
  assert.equal([total, status], [3, 'running']);
  const late = await deliver(first);
  await runAll();
  assert.equal(
    requeued(),
    pushes.map((push, n) => [push, n === 2 ? other : agent]),
  );
  assert.equal([(await jobOf(id)).status, (await jobOf(id)).done], ['done', 3]);
  assert.ok(!requeued().some(([one]) => one === late));
  const [event] = p.eventsOf('DeliveriesReplayRequested');
  const { ids, to, ...selection } = event!.data as Json;
  assert.equal(ids, pushes);
  assert.ok((to as string) <= now(), 'the end of the selection is fixed at the time of the request');
  assert.equal(selection, { integration_id: null, from: null, outcome: null, event: 'push', agent_id: null });
});

test('a replay of a tenant with a target sends the deliveries to this agent instead of the agent that got them first', async () => {
  const before = requeued().length;
  const { id } = (await replay({ integration_id: first, event: 'issues', target_agent_id: other })).body as Json;
  await runAll();
  assert.equal(requeued().slice(before), [[issue, other]]);
  assert.is((await jobOf(id)).status, 'done');
});

test('a dry run counts the deliveries that match every filter of the list, and appends no event', async () => {
  const length = p.log.events.length;
  const listed = (await p.send('GET', `${p.tenant}/deliveries?limit=200`)).body as Json[];
  const one = listed.find(({ id }) => id === issue)!;
  const filters: readonly (readonly [Json, number])[] = [
    [{}, 5],
    [{ integration_id: first }, 4],
    [{ agent_id: other }, 1],
    [{ provider: 'github' }, 5],
    [{ provider: 'cron' }, 0],
    [{ event: 'issues' }, 1],
    [{ provider_delivery_id: one.provider_delivery_id }, 1],
    [{ reason: 'max_deliveries' }, 0],
    [{ matched_secret: 'current' }, 5],
    [{ matched_secret: 'previous' }, 0],
    [{ outcome: 'dead' }, 0],
    [{ outcome: 'accepted' }, 5],
    [{ status: 'waiting' }, 5],
    [{ status: 'done' }, 0],
    [{ from: one.received_at, to: '2120-01-01T00:00:00Z', event: 'issues' }, 1],
    [{ from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }, 0],
  ];
  for (const [filter, expected] of filters) assert.is(await totalOf(filter), expected, JSON.stringify(filter));
  assert.is(p.log.events.length, length);
});

test('a replay sends at most as many deliveries per second as it was asked to, and does not catch up after a break', () => {
  const started = { ...ReplayJob.initial, advanced_at: '2026-11-21T10:00:00.000Z' };
  const paced = { ...started, per_second: 10 };
  assert.is(ReplayJob.batchSize(started, '2026-11-21T10:00:00.000Z'), ReplayJob.MAX_BATCH);
  assert.is(ReplayJob.batchSize(paced, '2026-11-21T10:00:00.000Z'), 0);
  assert.is(ReplayJob.batchSize(paced, '2026-11-21T10:00:00.550Z'), 5);
  assert.is(ReplayJob.batchSize(paced, '2026-11-21T11:00:00.000Z'), 10);
  assert.is(ReplayJob.batchSize(paced, '2026-11-21T09:00:00.000Z'), 0);
});

test('a replay with a pace is done in several steps; after it is cancelled, nothing more is sent', async () => {
  const before = requeued().length;
  const { id, created_at } = (await replay({ per_second: 2 })).body as Json;
  await p.waitForProjections();
  assert.is((await jobOf(id)).per_second, 2);
  const run = async (afterMs: number) => {
    await advanceReplays(
      replayerOf(p.log),
      await runningJobs(p.reads, now()),
      new Date(Date.parse(created_at as string) + afterMs).toISOString(),
    );
    await p.waitForProjections();
    return requeued().length - before;
  };
  assert.equal([await run(0), await run(1_000), await run(1_400), await run(2_500)], [0, 2, 2, 4]);
  assert.equal([(await jobOf(id)).done, (await jobOf(id)).status], [4, 'running']);
  const cancelled = await p.send('POST', `${p.tenant}/jobs/${id}/cancel`);
  assert.equal([cancelled.status, (cancelled.body as Json).status], [200, 'cancelled']);
  assert.is(await run(10_000), 4);
});

test('an invalid request for a replay of a tenant is refused, and the error points to the field', async () => {
  const missing = `c${'0'.repeat(24)}`;
  const inactive = await created('agents', { name: 'Off', slug: 'off' });
  await p.send('PATCH', `${p.tenant}/agents/${inactive}`, { body: { is_active: false } });
  const refusals: readonly (readonly [Json, number, string])[] = [
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 422, '/to'],
    [{ from: '2120-01-01T00:00:00Z' }, 422, '/to'],
    [{ outcome: 'rejected' }, 422, '/outcome'],
    [{ outcome: 'blocked' }, 422, '/release_reason'],
    [{ release_reason: 'Wrong rule' }, 422, '/release_reason'],
    [{ outcome: 'blocked', release_reason: '' }, 422, '/release_reason'],
    [{ status: 'lost' }, 422, '/status'],
    [{ per_second: 0 }, 422, '/per_second'],
    [{ per_second: 101 }, 422, '/per_second'],
    [{ integration_id: missing }, 422, '/integration_id'],
    [{ agent_id: missing }, 422, '/agent_id'],
    [{ target_agent_id: missing }, 422, '/target_agent_id'],
    [{ target_agent_id: inactive }, 409, '/target_agent_id'],
    [{ colour: 'red' }, 422, '/colour'],
  ];
  const length = p.log.events.length;
  for (const [body, status, pointer] of refusals) {
    const answer = await replay(body);
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [status, pointer], answer.text);
  }
  assert.is(p.log.events.length, length);
});

test('the deliveries of a deleted agent, and of a disconnected integration, can be sent to another agent', async () => {
  const gone = await created('agents', { name: 'Gone', slug: 'gone' });
  const hook = await hookOf(gone);
  const id = await deliver(hook);
  await p.send('DELETE', `${p.tenant}/webhook-integrations/${hook}`);
  await p.send('DELETE', `${p.tenant}/agents/${gone}`);
  const before = requeued().length;
  const answer = await replay({ integration_id: hook, agent_id: gone, target_agent_id: other });
  assert.is(answer.status, 202, answer.text);
  await runAll();
  assert.equal(requeued().slice(before), [[id, other]]);
});

test('a request for a replay that is repeated with its Idempotency-Key starts one job', async () => {
  const headers = { 'idempotency-key': 'replay-once' };
  const send = () => p.send('POST', `${p.tenant}/deliveries/replay`, { body: { event: 'issues' }, headers });
  const [one, two] = [await send(), await send()];
  assert.equal([one.status, two.status, two.body], [202, 202, one.body]);
});

const stranger = await createSecondTenant(p);

test('a replay never selects deliveries of another tenant, and answers their ids like unknown ones', async () => {
  const send = async (body: Json) => {
    const { status, body: reply } = await p.send('POST', `${stranger.tenant}/deliveries/replay`, { body, key: stranger.key });
    const shown = omit(reply as Json, 'request_id');
    return { status, ...shown };
  };
  assert.is(((await send({ dry_run: true })) as Json).total, 0);
  const missing = `c${'0'.repeat(24)}`;
  for (const name of ['integration_id', 'agent_id', 'target_agent_id']) {
    const foreign = await send({ [name]: name === 'integration_id' ? first : agent });
    assert.is(foreign.status, 422);
    assert.equal(foreign, await send({ [name]: missing }));
  }
});

afterLastTest(() => p.close());

test.run();
