import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { advanceReplay } from '../../commands/deliveries/replay-deliveries.reactor.ts';
import { advanceReplays, replayPorts } from '../../infra/deliveries/replay-deliveries.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';
import { replayerOf, withoutReleases } from '../fixtures/without-releases.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const agent = await created('agents', { name: 'Reviewer', slug: 'reviewer' });
const ALL = { from: '2020-01-01T00:00:00Z', to: '2120-01-01T00:00:00Z' };

let sent = 0;
const deliver = async (hook: string, event = 'push'): Promise<string> => {
  const raw = `{"n":${sent}}`;
  const headers = { 'x-github-delivery': `d-${sent++}`, 'x-github-event': event, 'x-hub-signature-256': sign(raw) };
  return String(((await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers })).body as Json).id);
};
/**
 * Creates an integration that accepts only some events. Sends it `count` pushes, which are accepted, and one ping,
 * which is blocked.
 */
const hookWith = async (count: number): Promise<{ hook: string; ids: string[] }> => {
  const fields = { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET, event_filter: ['push', 'issues'] };
  const hook = await created('webhook-integrations', fields);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await deliver(hook));
  await deliver(hook, 'ping');
  return { hook, ids };
};
const replay = (hook: string, body: Json = {}) =>
  p.send('POST', `${p.tenant}/webhook-integrations/${hook}/replay`, { body: { ...ALL, ...body } });
const jobOf = async (id: unknown): Promise<Json> => (await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json;
const now = () => new Date().toISOString();
const runAll = async (): Promise<void> => {
  while (await advanceReplays(replayerOf(p.log), await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
};
const requeued = (ids: readonly string[]) => p.eventsOf('DeliveryRequeued').filter(({ id }) => ids.includes(id));

test('a replay job sends every accepted delivery of the integration once, as a new message; a read of the job shows the progress', async () => {
  const { hook, ids } = await hookWith(3);
  const other = await hookWith(1);
  const answer = await replay(hook);
  assert.is(answer.status, 202, answer.text);
  const { id, created_at, ...job } = answer.body as Json;
  const target = { target_agent_id: null, per_second: null };
  const shown = { kind: 'deliveries_replay', status: 'running', done: 0, total: 3, error: null, ...target, finished_at: null };
  assert.equal(job, shown);
  assert.equal(await jobOf(id), answer.body);
  await runAll();
  const { finished_at, ...finished } = await jobOf(id);
  assert.equal(finished, { id, kind: 'deliveries_replay', status: 'done', done: 3, total: 3, error: null, ...target, created_at });
  assert.ok((finished_at as string) >= (created_at as string));
  const events = requeued(ids);
  assert.equal(events.map((event) => event.id).toSorted(), ids.toSorted());
  assert.ok(events.every(({ actor, data }) => actor.kind === 'user' && (data as Json).agent_id === agent));
  assert.equal(requeued(other.ids), []);
  await runAll();
  assert.is(requeued(ids).length, 3);
});

test('a replay job that runs in two processes, or again after a crash, sends no delivery twice', async () => {
  const { hook, ids } = await hookWith(25);
  const ref = { tenant_id: p.tenant_id, id: ((await replay(hook)).body as Json).id as string };
  const ports = replayPorts(p.log, now(), withoutReleases);
  let appended = 0;
  const crashing = {
    ...ports,
    requeueOnce: async (one: Parameters<typeof ports.requeueOnce>[0]) => {
      if (appended++ >= 12) throw new Error('killed');
      await ports.requeueOnce(one);
    },
  };
  await advanceReplay(crashing, ref, now()).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, 'killed'),
  );
  const before = requeued(ids).length;
  assert.ok(before > 0 && before < 25, `${before} were sent before the crash`);
  await Promise.all([
    advanceReplay(replayPorts(p.log, now(), withoutReleases), ref, now()),
    advanceReplay(replayPorts(p.log, now(), withoutReleases), ref, now()),
  ]);
  const events = requeued(ids);
  assert.equal([events.length, new Set(events.map(({ id }) => id)).size], [25, 25]);
  assert.is(p.eventsOf('DeliveriesReplayFinished').filter(({ id }) => id === ref.id).length, 1);
});

test('after a replay job is cancelled, at most the current batch of deliveries is sent; cancelling the job again changes nothing', async () => {
  const { hook, ids } = await hookWith(130);
  const { id } = (await replay(hook)).body as Json;
  assert.is(await advanceReplay(replayPorts(p.log, now(), withoutReleases), { tenant_id: p.tenant_id, id: id as string }, now()), true);
  await p.waitForProjections();
  assert.is((await jobOf(id)).done, 100);
  const cancel = () => p.send('POST', `${p.tenant}/jobs/${id}/cancel`);
  const cancelled = await cancel();
  assert.equal([cancelled.status, (cancelled.body as Json).status], [200, 'cancelled']);
  const length = p.log.events.length;
  assert.equal((await cancel()).body, cancelled.body);
  assert.is(p.log.events.length, length);
  await runAll();
  assert.is(requeued(ids).length, 100);
  assert.equal(await jobOf(id), cancelled.body);
});

test('if a replay job is cancelled during a batch, the end of the batch does not start the job again', async () => {
  const { hook } = await hookWith(2);
  const id = ((await replay(hook)).body as Json).id as string;
  const ports = replayPorts(p.log, now(), withoutReleases);
  const isTenantActive = async (tenant: string) => {
    await p.send('POST', `${p.tenant}/jobs/${id}/cancel`);
    return ports.isTenantActive(tenant);
  };
  assert.is(await advanceReplay({ ...ports, isTenantActive }, { tenant_id: p.tenant_id, id }, now()), false);
  await p.waitForProjections();
  assert.is((await jobOf(id)).status, 'cancelled');
});

test('a dry run of a replay counts the deliveries that would be sent, and appends no event', async () => {
  const { hook } = await hookWith(2);
  const length = p.log.events.length;
  const { status, body } = await replay(hook, { dry_run: true });
  const { id, total, done, status: state } = body as Json;
  assert.equal([status, id, total, done, state], [202, null, 2, 0, 'dry_run']);
  assert.is(p.log.events.length, length);
});

test('a replay with filters sends only matching deliveries; a replay can send them to another agent', async () => {
  const { hook, ids } = await hookWith(3);
  await deliver(hook, 'issues');
  const totalOf = async (body: Json) => ((await replay(hook, { ...body, dry_run: true })).body as Json).total;
  assert.equal(
    [await totalOf({}), await totalOf({ event: 'issues' }), await totalOf({ outcome: 'dead' }), await totalOf({ ids: ids.slice(1) })],
    [4, 1, 0, 2],
  );
  assert.is(await totalOf({ to: '2020-01-02T00:00:00Z' }), 0);
  const other = await created('agents', { name: 'Other', slug: 'other' });
  await replay(hook, { ids: [ids[0]!], agent_id: other });
  await runAll();
  assert.equal(
    requeued(ids).map(({ id, data }) => [id, (data as Json).agent_id]),
    [[ids[0], other]],
  );
});

test('a replay job skips deliveries whose agent has become inactive, and reports how many it skipped', async () => {
  const { hook, ids } = await hookWith(2);
  const { id } = (await replay(hook)).body as Json;
  await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: false } });
  await runAll();
  await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: true } });
  const { status, done, error } = await jobOf(id);
  assert.equal([status, done, error], ['done', 2, '2 not sent: the agent is inactive or deleted']);
  assert.equal(requeued(ids), []);
});

test('a replay job without matching deliveries completes', async () => {
  const { hook } = await hookWith(0);
  const { id } = (await replay(hook)).body as Json;
  await runAll();
  const { status, done, total } = await jobOf(id);
  assert.equal([status, done, total], ['done', 0, 0]);
  const refused = await p.send('POST', `${p.tenant}/jobs/${id}/cancel`);
  assert.equal([refused.status, ((refused.body as Json).errors as Json[])[0]!.code], [409, 'job_finished']);
});

test('a request for a replay with an invalid field is refused, and the error points to the field', async () => {
  const { hook } = await hookWith(0);
  const missing = `c${'0'.repeat(24)}`;
  const inactive = await created('agents', { name: 'Off', slug: 'off' });
  await p.send('PATCH', `${p.tenant}/agents/${inactive}`, { body: { is_active: false } });
  const refusals: readonly (readonly [Json, number, string])[] = [
    [{ to: ALL.from }, 422, '/to'],
    [{ from: undefined }, 422, '/from'],
    [{ outcome: 'blocked' }, 422, '/outcome'],
    [{ ids: [] }, 422, '/ids'],
    [{ colour: 'red' }, 422, '/colour'],
    [{ agent_id: missing }, 422, '/agent_id'],
    [{ agent_id: inactive }, 409, '/agent_id'],
  ];
  for (const [body, status, pointer] of refusals) {
    const answer = await replay(hook, body);
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [status, pointer], answer.text);
  }
  assert.is((await replay(missing)).status, 404);
  assert.is((await p.send('GET', `${p.tenant}/jobs/${missing}`)).status, 404);
  assert.is((await p.send('POST', `${p.tenant}/jobs/${missing}/cancel`)).status, 404);
});

afterLastTest(() => p.close());

test.run();
