import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, type TestPlatform } from '../fixtures/users.ts';

const sendWithKey = (p: TestPlatform, method: string, path: string, body?: object): Promise<Answer> =>
  p.send(method, path, { ...(body && { body }), headers: { 'idempotency-key': 'once' } });

const later = (p: TestPlatform, ms: number): void => {
  const { now } = p.clock;
  p.clock.now = () => now() + ms;
};

/**
 * Sends a request with an idempotency key, calls `meanwhile`, moves the clock forward, and repeats the request. Asserts
 * that the second response equals the first one, and that repeating appends no events.
 */
const assertRepeatable = async (
  p: TestPlatform,
  send: () => Promise<Answer>,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<Answer> => {
  const first = await send();
  assert.ok(first.status < 300, first.text);
  await meanwhile();
  await p.waitForProjections();
  later(p, 10_000);
  const events = p.log.events.length;
  const again = await send();
  assert.equal([again.status, again.text, again.headers.get('location')], [first.status, first.text, first.headers.get('location')]);
  assert.is(p.log.events.length, events);
  return first;
};

const opened = (p: TestPlatform) => p.eventsOf('SuperAdminAccessOpened').map(({ data }) => (data as { until: string }).until);

test('a repeated break-glass request returns the end time that the first request recorded', async () => {
  const p = await createTestPlatform();
  const path = `/admin/tenants/${p.tenant_id}/break-glass`;
  const answer = await assertRepeatable(p, () => sendWithKey(p, 'POST', path, { reason: 'x', minutes: 1 }));
  assert.equal(opened(p), [(answer.body as { until: string }).until]);
  await p.close();
});

test('if a process stops after it has recorded a break-glass request, repeating the request returns the recorded end time', async () => {
  const p = await createTestPlatform();
  const path = `/admin/tenants/${p.tenant_id}/break-glass`;
  const { append } = p.log;
  p.log.append = (...call: Parameters<typeof append>) =>
    call[2].some(({ type }) => type === 'IdempotencyKeyFinished') ? new Promise(() => {}) : append(...call);
  void sendWithKey(p, 'POST', path, { reason: 'x', minutes: 1 });
  while (opened(p).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  p.log.append = append;
  later(p, 31_000);
  const answer = await sendWithKey(p, 'POST', path, { reason: 'x', minutes: 1 });
  assert.equal([answer.status, opened(p)], [201, [(answer.body as { until: string }).until]]);
  await p.close();
});

test('a repeated request gets the same response as the first one, even if the read models or the clock have changed in between', async () => {
  const p = await createTestPlatform();
  const tenant = `/admin/tenants/${p.tenant_id}`;
  const { user_id } = await addMember(p, 'MEMBER');
  await p.waitForProjections();
  let agents = 0;
  const another = async () => {
    assert.is((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `agent-${++agents}` } })).status, 201);
  };
  const elsewhere = async () => {
    const { id } = (await p.send('POST', '/admin/tenants', { body: { name: 'B', slug: 'b', owner_email: 'b@example.com' } })).body as {
      id: string;
    };
    await addMember(p, 'MEMBER', id);
  };
  await assertRepeatable(p, () => sendWithKey(p, 'POST', `${tenant}/resume`, { reason: 'x' }), another);
  await assertRepeatable(p, () => sendWithKey(p, 'PATCH', tenant, { name: 'Renamed' }), another);
  await assertRepeatable(
    p,
    () => sendWithKey(p, 'PATCH', `/api/v1/admin/users/${user_id}`, { is_suspended: true, reason: 'x' }),
    elsewhere,
  );
  await p.close();
});

test('a repeated request to grant access gets the same response, even if the user was removed in between', async () => {
  const p = await createTestPlatform();
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).headers.get('location')!;
  const { user_id } = await addMember(p, 'MEMBER');
  const removeMember = () => p.send('DELETE', `${p.tenant}/members/${user_id}`);
  const answer = await assertRepeatable(p, () => sendWithKey(p, 'POST', `${agent}/grants`, { user_id }), removeMember);
  assert.is(answer.status, 201);
  const other = await p.send('POST', `${agent}/grants`, { body: { user_id } });
  assert.equal([other.status, (other.body as { errors: { pointer: string }[] }).errors[0]?.pointer], [422, '/user_id']);
  assert.is((await p.send('PUT', `${agent}/roles/${user_id}`, { body: { role: 'VIEWER' } })).status, 404);
  await p.close();
});

test('a repeated change of an integration gets the same response, even if its agent was deleted in between', async () => {
  const p = await createTestPlatform();
  const agentOf = async (slug: string) => {
    const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug } });
    return { id: (created.body as { id: string }).id, path: created.headers.get('location')! };
  };
  const [first, second] = [await agentOf('first'), await agentOf('second')];
  const connected = { provider: 'github', agent_id: first.id, label: 'Hook' };
  const hook = (await p.send('POST', `${p.tenant}/webhook-integrations`, { body: connected })).headers.get('location')!;
  await assertRepeatable(
    p,
    () => sendWithKey(p, 'PATCH', hook, { agent_id: second.id }),
    () => p.send('DELETE', second.path),
  );
  assert.is((await p.send('PATCH', hook, { body: { agent_id: second.id } })).status, 422);
  await p.close();
});

test('a repeated request for the maintenance of a projection with the same idempotency key is executed once', async () => {
  const done: string[] = [];
  const rebuild = {
    id: '7',
    projection: 'agents',
    version: 2,
    events: 0,
    total: 0,
    events_per_second: 0,
    eta_seconds: null,
    comparison: null,
    requested_at: '2026-11-23T10:00:00.000Z',
    requested_by: null,
    ended_at: null,
    decided_by: null,
    reason: null,
  };
  const parked = { id: '1', projection: 'agents', event_id: 'e', position: '1:1', key: 'k', error: 'x', attempts: 1, parked_at: '' };
  const succeedOnce =
    <T>(what: string, answer: T) =>
    async () => {
      if (done.includes(what)) throw new Refusal('conflict', `${what} was done already`);
      done.push(what);
      return answer;
    };
  const p = await createTestPlatform({
    createProjectionAdmin: () =>
      ({
        rebuild: succeedOnce('rebuild', { ...rebuild, state: 'running' as const }),
        promote: succeedOnce('promote', { ...rebuild, state: 'promoted' as const }),
        abort: succeedOnce('abort', { ...rebuild, state: 'aborted' as const }),
        retry: succeedOnce('retry', parked),
      }) as never,
  });
  for (const path of ['rebuild', 'rebuilds/7/promote', 'rebuilds/7/abort', 'parked/e/retry'])
    await assertRepeatable(p, () => sendWithKey(p, 'POST', `/admin/projections/agents/${path}`));
  assert.equal(done, ['rebuild', 'promote', 'abort', 'retry']);
  await p.close();
});

test.run();
