import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { linkRepo, pinCodeRef } from '../../domain/agents/code-ref.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Entry = Json & { action: string; summary: string; actor: Json; changes: { pointer: string; from: unknown; to: unknown }[] };

const p = await createTestPlatform();
const owner = await addMember(p, 'OWNER');
const SECRET = 'a provider’s secret of 24 bytes';

const send = async (method: string, path: string, body?: unknown): Promise<Json> => {
  const answer = await p.send(method, `${p.tenant}/${path}`, { key: owner.key, ...(body === undefined ? {} : { body }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.body as Json;
};
const entries = async (query: string, path = `${p.tenant}/audit-logs`, key = owner.key): Promise<Entry[]> => {
  await p.waitForProjections();
  const answer = await p.send('GET', `${path}?limit=200&${query}`, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Entry[];
};
const newest = async (action: string): Promise<Entry> => (await entries(`action=${action}`))[0]!;
const emailOf = (user_id: string): string => {
  const registered = p.eventsOf('UserRegistered').find(({ id }) => id === user_id)!;
  return (registered.data as { email: string }).email;
};

const agent = (await send('POST', 'agents', { name: 'Reviewer', slug: 'reviewer' })).id as string;
const by = emailOf(owner.user_id);

test('an audit log entry names its actor and its resource, and says what changed, with the values before and after', async () => {
  const created = await newest('agent.created');
  assert.is(created.summary, `${by} created the agent “Reviewer”.`);
  assert.equal([created.resource_name, created.changes, created.actor.email], ['Reviewer', [], by]);
  await send('PATCH', `agents/${agent}`, { description: 'one', voice: 'alto' });
  await send('PATCH', `agents/${agent}`, { description: 'two' });
  const updated = await newest('agent.updated');
  assert.is(updated.summary, `${by} changed description of the agent “Reviewer”.`);
  assert.equal(updated.changes, [{ pointer: '/description', from: 'one', to: 'two' }]);
  await send('PATCH', `agents/${agent}`, { is_active: false });
  assert.equal((await newest('agent.deactivated')).changes, [{ pointer: '/is_active', from: true, to: false }]);
});

test('audit log entries about the code of an agent name the repository and the branch before and after the change; the first branch is main', async () => {
  const ctx = p.systemContext(p.tenant_id);
  const url = 'https://example.com/repo.git';
  await ctx.transact(Agent, agent, linkRepo({ repo_url: url, code_ref: 'v1' }));
  await ctx.transact(Agent, agent, pinCodeRef(url, 'v2'));
  assert.equal((await newest('agent.repo_linked')).changes, [
    { pointer: '/repo_url', from: null, to: url },
    { pointer: '/code_ref', from: 'main', to: 'v1' },
  ]);
  assert.equal((await newest('agent.code_ref_pinned')).changes, [{ pointer: '/code_ref', from: 'v1', to: 'v2' }]);
});

test('an audit log entry shows the names that were valid at the time of its event, even after a rename', async () => {
  await send('PATCH', `agents/${agent}`, { name: 'Critic' });
  assert.equal((await newest('agent.updated')).changes, [{ pointer: '/name', from: 'Reviewer', to: 'Critic' }]);
  await send('PATCH', `agents/${agent}`, { is_active: true });
  assert.is((await newest('agent.activated')).resource_name, 'Critic');
  assert.is((await newest('agent.deactivated')).resource_name, 'Reviewer');
});

test('audit log entries about members and roles name the person, with the role before and after the change', async () => {
  const member = await addMember(p, 'MEMBER');
  const email = emailOf(member.user_id);
  await send('PATCH', `members/${member.user_id}`, { role: 'AUDITOR' });
  const changed = await newest('member.role_changed');
  assert.equal([changed.resource_name, changed.changes], [email, [{ pointer: '/role', from: 'MEMBER', to: 'AUDITOR' }]]);
  assert.is(changed.summary, `${by} changed the role of ${email} to AUDITOR.`);
  await send('PUT', `agents/${agent}/roles/${member.user_id}`, { role: 'VIEWER' });
  const assigned = await newest('agent.role_assigned');
  assert.is(assigned.summary, `${by} gave ${email} the role VIEWER on the agent “Critic”.`);
  assert.equal(assigned.changes, [{ pointer: `/roles/${member.user_id}`, from: null, to: 'VIEWER' }]);
});

test('an audit log entry about a secret says that it changed, but shows neither the old nor the new value; long values of other fields are truncated', async () => {
  const created = await send('POST', 'webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET });
  await send('POST', `webhook-integrations/${created.id}/rotate-secret`, { secret: `${SECRET}, a new one`, overlap_seconds: 60 });
  const rotated = await newest('integration.secret_rotated');
  assert.is(rotated.resource_name, 'Code');
  assert.equal(
    rotated.changes.find(({ pointer }) => pointer === '/secret'),
    { pointer: '/secret', from: '***', to: '***' },
  );
  assert.not.ok(JSON.stringify(rotated).includes(SECRET));
  await send('PATCH', `agents/${agent}`, { description: 'x'.repeat(1_000) });
  assert.is(String((await newest('agent.updated')).changes[0]!.to).length, 501);
});

test('the audit log entry about the use of an API key names the user or agent that the key stands for, and is found by a filter for that user or agent', async () => {
  const created = await send('POST', 'api-keys', { name: 'script' });
  const runner = await send('POST', `agents/${agent}/runner-keys`, { name: 'machine' });
  for (const key of [created.key, runner.key])
    assert.is((await p.send('GET', `${p.tenant}/agents/${agent}`, { key: String(key) })).status, 200);
  while (p.eventsOf('ApiKeyUsed').filter(({ id }) => id === created.id || id === runner.id).length < 2)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const [used, byUser, byRunner] = await Promise.all([
    entries(`action=api_key.used&key_id=${created.id}`),
    entries(`action=api_key.used&user_id=${owner.user_id}`),
    entries(`action=api_key.used&resource_id=${runner.id}`),
  ]);
  assert.is(used[0]!.summary, `${by} used the API key “script”.`);
  assert.equal([used[0]!.user_id, used[0]!.actor.key_id, used[0]!.actor.email], [owner.user_id, created.id, by]);
  assert.ok(byUser.some(({ id }) => id === used[0]!.id));
  assert.equal(
    [byRunner[0]!.user_id, byRunner[0]!.agent_id, byRunner[0]!.summary],
    [null, agent, 'Agent “Critic” used the API key “machine”.'],
  );
});

test('in an older event about the use of an API key the actor is the platform; the audit log entry of such an event also shows the user and the agent', async () => {
  const created = await send('POST', 'api-keys', { name: 'old' });
  const runner = await send('POST', `agents/${agent}/runner-keys`, { name: 'old runner' });
  const ctx = p.systemContext(p.tenant_id);
  for (const { id } of [created, runner]) await ctx.transact(ApiKey, String(id), ApiKey.recordUse(ctx.at()));
  const [used] = await entries(`action=api_key.used&user_id=${owner.user_id}&resource_id=${created.id}`);
  assert.is(used!.summary, 'The platform recorded that the API key “old” is in use.');
  assert.equal([used!.user_id, used!.agent_id, used!.actor.kind], [owner.user_id, null, 'system']);
  const [byRunner] = await entries(`action=api_key.used&key_id=${runner.id}&agent_id=${agent}`);
  assert.equal([byRunner!.user_id, byRunner!.agent_id], [null, agent]);
});

test("a tenant's audit log does not show the name of a user of another tenant who acts as platform operator", async () => {
  const other = await createSecondTenant(p, 'acted-on');
  await p.send('POST', `/admin/tenants/${other.id}/break-glass`, { body: { reason: 'a look', minutes: 5 } });
  const [theirs] = await entries('action=super_admin.access_opened', `${other.tenant}/audit-logs`, other.key);
  assert.equal([theirs!.actor.name, theirs!.actor.email, theirs!.resource_name], [null, null, 'acted-on']);
  assert.ok(theirs!.summary.startsWith(`User ${theirs!.actor.id} opened super-admin access`), theirs!.summary);
  const [ours] = await entries(`action=super_admin.access_opened`, '/admin/audit-logs', p.key);
  assert.is(ours!.actor.email, emailOf(String(ours!.actor.id)));
  assert.ok(ours!.summary.startsWith(`${ours!.actor.name} (${ours!.actor.email}) opened super-admin access`), ours!.summary);
});

afterLastTest(() => p.close());

test.run();
