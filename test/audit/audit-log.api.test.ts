import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { actionOf } from '../../projections/audit/audit-entry.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { eventually } from '../fixtures/child-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Line = Json & { action: string; meta: Json; user_id: string | null; agent_id: string | null };

const p = await createTestPlatform();
const owner = await addMember(p, 'OWNER');
const HEADERS = { 'user-agent': 'proof/1.0', 'x-request-id': 'audited' };
const SECRET = 'a provider’s secret of 24 bytes';
const send = (method: string, path: string, body?: unknown) =>
  p.send(method, path.startsWith('/') ? path : `${p.tenant}/${path}`, {
    key: path.startsWith('/admin') ? p.key : owner.key,
    headers: HEADERS,
    ...(body === undefined ? {} : { body }),
  });
const idOf = async (answer: ReturnType<typeof send>): Promise<string> => ((await answer).body as Json).id as string;
const lines = async (query = '', path = `${p.tenant}/audit-logs`): Promise<Line[]> => {
  await p.waitForProjections();
  const answer = await p.send('GET', `${path}?limit=200&${query}`, { key: path.startsWith('/admin') ? p.key : owner.key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Line[];
};

const agent = await idOf(send('POST', 'agents', { name: 'Agent', slug: 'agent' }));
const models = ((await send('GET', 'models')).body as { id: string }[]).map(({ id }) => id);

test('every mutation has an audit log entry with action, resource, actor, IP address and user agent', async () => {
  const story: [string, () => Promise<unknown>][] = [
    ['agent.updated', () => send('PATCH', `agents/${agent}`, { voice: 'v' })],
    ['agent.deactivated', () => send('PATCH', `agents/${agent}`, { is_active: false })],
    ['agent.model_chain_reordered', () => send('PUT', `agents/${agent}/models`, { model_ids: models })],
    ['api_key.created', () => send('POST', `agents/${agent}/runner-keys`, { name: 'r' })],
    [
      'integration.connected',
      () => send('POST', 'webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET }),
    ],
    ['member.added', () => send('POST', 'members', { email: 'new@example.com' })],
    ['tenant.settings_changed', () => send('PATCH', p.tenant, { name: 'Renamed' })],
    ['agent.deleted', async () => send('DELETE', `agents/${await idOf(send('POST', 'agents', { name: 'Gone', slug: 'gone' }))}`)],
  ];
  for (const [action, act] of story) {
    const before = p.log.events.length;
    await act();
    const [line] = await lines(`action=${action}`);
    assert.ok(line, action);
    assert.equal([line.user_id, line.ip, line.user_agent, line.tenant_id], [owner.user_id, '127.0.0.1', 'proof/1.0', p.tenant_id], action);
    const event = p.log.events.slice(before).find(({ event_id }) => event_id === line.id)!;
    const isMember = action === 'member.added';
    const expected = isMember
      ? ['member', (event.data as Json).user_id]
      : [{ apikey: 'api_key' }[event.category] ?? event.category, event.id];
    assert.equal([line.resource_type, line.resource_id, line.created_at], [...expected, event.at]);
    assert.is(line.request_id, 'audited');
    const { kind, id, key_id } = line.actor as Json;
    assert.equal([kind, id], ['user', owner.user_id]);
    assert.is(key_id, event.actor.key_id);
    assert.ok(key_id);
  }
});

test('every event of the tenant has an audit log entry, except those of idempotency keys and encryption keys', async () => {
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Once', slug: 'once' }, headers: { 'idempotency-key': 'k' } });
  await p.waitForProjections();
  const expected = p.log.events.filter(({ meta, category }) => meta.tenant === p.tenant_id && !['idempotency', 'key'].includes(category));
  assert.equal((await lines()).map(({ id }) => id).sort(), expected.map(({ event_id }) => event_id).sort());
});

test('no audit log entry contains a digest, an encrypted secret or an API key', async () => {
  const key = ((await send('POST', 'api-keys', { name: 'k' })).body as Json).key as string;
  const all = JSON.stringify([await lines(), await lines('', '/admin/audit-logs')]);
  assert.not.match(all, /"digest"|sealed|v1\.[\w-]+\.[\w-]+\./);
  for (const secret of [key.slice(13), owner.key.slice(13), SECRET]) assert.not.ok(all.includes(secret));
  assert.ok(all.includes('"secret_hint"') || !all.includes('hint'));
});

test('audit log entries can be filtered by agent, resource and actor', async () => {
  const of = await lines(`agent_id=${agent}`);
  assert.ok(of.length >= 5);
  assert.ok(of.every((line) => line.agent_id === agent));
  assert.ok((await lines(`actor=${owner.user_id}`)).every((line) => line.user_id === owner.user_id));
  assert.ok((await lines(`resource_type=agent&resource_id=${agent}&action=agent.updated`)).length === 1);
  assert.equal(await lines('actor=nobody'), []);
});

test("filtering the audit log by the id of an agent also finds changes of the agent's Slack settings; the entries of these changes name the agent", async () => {
  assert.is((await send('PUT', `agents/${agent}/slack-config`, { slack_rpm_limit: 5 })).status, 200);
  const [changed, ...others] = await lines(`agent_id=${agent}&action=agent.slack_config_changed`);
  assert.equal(others, []);
  assert.equal([changed?.agent_id, changed?.resource_type, changed?.resource_id], [agent, 'agent', agent]);
});

test('audit log entries can be filtered by user, by API key and by the first part of the action, such as agent', async () => {
  const all = await lines();
  const idsOf = (found: Line[]) => found.map(({ id }) => id);
  const keyId = String((all.find(({ user_id }) => user_id === owner.user_id)!.actor as Json).key_id);
  assert.equal(
    idsOf(await lines(`user_id=${owner.user_id}&action=agent.*`)),
    idsOf(all.filter(({ user_id, action }) => user_id === owner.user_id && action.startsWith('agent.'))),
  );
  assert.equal(idsOf(await lines(`key_id=${keyId}`)), idsOf(all.filter(({ actor }) => (actor as Json).key_id === keyId)));
  assert.equal(idsOf(await lines('action=api_key.*')), idsOf(all.filter(({ action }) => action.startsWith('api_key.'))));
  assert.ok((await lines('action=api_key.*')).length > 0);
  for (const none of ['action=apixkey.*', 'action=agent*', 'action=%25.*', 'key_id=nothing', 'user_id=annals&key_id=nothing'])
    assert.equal(await lines(none), [], none);
});

test('filtering the audit log by an agent as the actor finds what its runner key did; filtering by a component of the platform finds what that component did', async () => {
  const runner = ((await send('POST', `agents/${agent}/runner-keys`, { name: 'acts' })).body as Json).key as string;
  assert.is((await p.send('GET', `${p.tenant}/members`, { key: runner })).status, 403);
  await p.recordPending();
  const [refused] = await lines(`actor=${agent}&action=access.refused`);
  assert.equal([refused?.user_id, refused?.agent_id], [null, agent]);
  assert.ok((await lines('actor=annals')).every(({ user_id }) => user_id === null));
  assert.ok((await lines('actor=annals')).length > 0);
});

test('the audit log entry of a forged delivery has the IP address and user agent of the sender; entries of acknowledgements name the agent', async () => {
  const hook = await idOf(send('POST', 'webhook-integrations', { provider: 'github', agent_id: agent, label: 'Forged', secret: SECRET }));
  const forged = await p.send('POST', `/hooks/inbound/${hook}`, { key: '', body: {}, headers: { 'user-agent': 'forger/1.0' } });
  assert.is(forged.status, 401);
  await eventually('the rejection', async () => p.eventsOf('WebhookRejected').length === 1);
  const [rejected] = await lines('action=webhook.rejected');
  assert.equal([rejected!.resource_type, rejected!.resource_id], ['integration', hook]);
  assert.equal([rejected!.ip, rejected!.user_agent, rejected!.agent_id], ['127.0.0.1', 'forger/1.0', agent]);
  assert.equal(
    (await lines(`actor=${hook}`)).map(({ id }) => id),
    [rejected!.id],
  );
  const capture = { epoch: 'e', sequence: 1 };
  const settled = { delivery_id: rejected!.meta.delivery_id, event_id: crypto.randomUUID(), at: String(rejected!.created_at), attempts: 1 };
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'acknowledgements' } as const, at: settled.at, v: 1 };
  await p.log.append(`acknowledgement-${p.tenant_id}.${agent}`, 'none', [
    { id: crypto.randomUUID(), type: 'DeliveriesAcknowledged', data: { deliveries: [], capture }, meta },
    { id: crypto.randomUUID(), type: 'DeliveryDeadLettered', data: { ...settled, reason: 'terminated', capture }, meta },
  ]);
  for (const action of ['deliveries.acknowledged', 'delivery.dead_lettered'])
    assert.is((await lines(`agent_id=${agent}&action=${action}&actor=acknowledgements`)).length, 1, action);
});

test('the time range of an audit log query includes its start and excludes its end, in any time zone', async () => {
  const all = await lines();
  const at = String(all[0]!.created_at);
  const zoned = encodeURIComponent(new Date(Date.parse(at) + 7_200_000).toISOString().replace('Z', '+02:00'));
  assert.ok((await lines(`from=${zoned}`)).some(({ id }) => id === all[0]!.id));
  assert.not.ok((await lines(`to=${zoned}`)).some(({ id }) => id === all[0]!.id));
  for (const wrong of ['yesterday', '2026-01-01', '0000-01-01T00:00:00Z', '2026-13-01T00:00:00Z'])
    assert.is((await p.send('GET', `${p.tenant}/audit-logs?from=${wrong}`)).status, 422, wrong);
});

test('audit log entries are listed newest first, in pages', async () => {
  const all = (await lines()).map(({ id }) => id);
  let path: string | undefined = `${p.tenant}/audit-logs?limit=4`;
  const seen: unknown[] = [];
  while (path) {
    const page: Awaited<ReturnType<typeof p.send>> = await p.send('GET', path);
    seen.push(...(page.body as Line[]).map(({ id }) => id));
    path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
  }
  assert.equal(seen, all);
});

test("a tenant's audit log contains the creation of its owner's first key; the actions of the platform itself are in the audit log of the platform", async () => {
  const { tenant, id, key } = await createSecondTenant(p);
  await p.waitForProjections();
  const theirs = (await p.send('GET', `${tenant}/audit-logs`, { key })).body as Line[];
  for (const action of ['tenant.created', 'member.added', 'api_key.created'])
    assert.ok(
      theirs.some((line) => line.action === action),
      action,
    );
  const platform = await lines('', '/admin/audit-logs');
  assert.ok(platform.some(({ action }) => action === 'model.registered'));
  assert.equal(
    platform.filter(({ tenant_id }) => tenant_id === id).map(({ action }) => action),
    ['tenant.created'],
  );
});

test("a tenant's audit log has its actions and the platform's operations on it; the platform's log only the latter", async () => {
  const { tenant, id, key } = await createSecondTenant(p, 'acted-on');
  const act = (method: string, path: string, body: unknown) => send(method, `/admin/tenants/${id}${path}`, body);
  await act('POST', '/break-glass', { reason: 'a look', minutes: 5 });
  await act('POST', '/suspend', { reason: 'unpaid' });
  await act('POST', '/resume', { reason: 'paid' });
  await act('PATCH', '', { name: 'Renamed by the platform', reason: 'asked for' });
  await p.send('PATCH', tenant, { key, body: { name: 'Renamed by itself' } });
  await p.waitForProjections();
  const theirs = (await p.send('GET', `${tenant}/audit-logs?limit=200`, { key })).body as Line[];
  const platform = (await lines('', '/admin/audit-logs')).filter(({ tenant_id }) => tenant_id === id);
  assert.equal(
    platform.map(({ action }) => action),
    ['tenant.updated', 'tenant.resumed', 'tenant.suspended', 'super_admin.access_opened', 'tenant.created'],
  );
  for (const line of platform) {
    const same = theirs.find((one) => one.id === line.id)!;
    const { email, ...actor } = line.actor as Json;
    assert.ok(line.action === 'tenant.created' || email, 'the platform sees which operator it was');
    const unnamed = (entry: Line) => ({
      ...{ ...entry, actor: null, summary: null, sentence: null },
      subjects: (entry.subjects as Json[]).map((subject) => ({ ...subject, name: null })),
    });
    assert.equal(unnamed(same), unnamed(line));
    assert.equal(same.actor, { ...actor, name: null, email: null }, 'the tenant sees only the id of the operator');
    assert.not.ok(email && JSON.stringify(same).includes(String(email)));
  }
  assert.ok(theirs.some(({ action }) => action === 'tenant.settings_changed'));
  const [opened] = await lines('action=super_admin.access_opened', '/admin/audit-logs');
  assert.equal([opened!.tenant_id, opened!.meta.reason, opened!.ip, opened!.user_agent], [id, 'a look', '127.0.0.1', 'proof/1.0']);
});

test('the audit log truncates user agents to 512 characters; for a MEMBER, reading the audit log is refused', async () => {
  await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { voice: 'w' }, headers: { 'user-agent': 'u'.repeat(2_000) } });
  assert.is(String((await lines('action=agent.updated'))[0]!.user_agent).length, 512);
  const { key } = await addMember(p, 'MEMBER');
  assert.is((await p.send('GET', `${p.tenant}/audit-logs`, { key })).status, 403);
});

test('the action of an audit log entry is the event type in lower case, as <resource>.<verb>', () => {
  for (const [type, action] of [
    ['AgentCreated', 'agent.created'],
    ['AgentModelChainReordered', 'agent.model_chain_reordered'],
    ['ApiKeyUsed', 'api_key.used'],
    ['RunnerCredentialIssued', 'runner_credential.issued'],
    ['SuperAdminAccessOpened', 'super_admin.access_opened'],
    ['WebhookAccepted', 'webhook.accepted'],
  ] as const)
    assert.is(actionOf(type), action);
});

afterLastTest(() => p.close());

test.run();
