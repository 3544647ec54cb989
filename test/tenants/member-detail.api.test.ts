import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TenantRole } from '../../domain/tenants/tenant-role.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Given = { type: string; actor_name: string | null; actor_email: string | null } | null;
type Access = { agent_name: string; role: string | null; grant: string | null; role_given: Given; grant_given: Given };
type Detail = { role: string; role_given: Given; access: Access[]; access_count: number; last_seen_at: string | null };
type Entry = { action: string };

const p = await startConsole();
afterLastTest(p.close);
const add = (role: TenantRole, name: string) => addMember(p, role, p.tenant_id, `${name}@example.com`);
const [ada, daniel, auditor] = [await add('ADMIN', 'ada'), await add('MEMBER', 'daniel'), await add('AUDITOR', 'radia')];
const [desk, garden, other] = [await createAgent(p, 'Refund Desk'), await createAgent(p, 'Docs Garden'), await createAgent(p, 'Other')];
await p.send('PUT', `${p.tenant}/agents/${desk}/roles/${daniel.user_id}`, { key: ada.key, body: { role: 'MANAGER' } });
await p.send('POST', `${p.tenant}/agents/${garden}/grants`, { body: { user_id: daniel.user_id, role: 'VIEWER' } });
await p.send('PATCH', `${p.tenant}/agents/${other}`, { key: ada.key, body: { description: 'Has nothing to do with Daniel' } });
await p.waitForProjections();

const read = async (user_id: string, key?: string) => {
  const { status, body } = await p.send('GET', `${p.tenant}/members/${user_id}`, key === undefined ? {} : { key });
  return { status, detail: body as Detail };
};

test('a member is read with each role and grant, who gave it, and when', async () => {
  const { detail } = await read(daniel.user_id, auditor.key);
  assert.equal([detail.role, detail.role_given?.type, detail.access_count], ['MEMBER', 'MemberAdded', 2]);
  assert.equal(
    detail.access.map(({ agent_name, role, grant, role_given, grant_given }) => [
      agent_name,
      role,
      role_given?.actor_email,
      grant,
      grant_given?.type,
    ]),
    [
      ['Docs Garden', null, undefined, 'VIEWER', 'AgentAccessGranted'],
      ['Refund Desk', 'MANAGER', 'ada@example.com', null, undefined],
    ],
  );
});

test('the detail of a member needs tenant:audit:read, and an unknown user is not found', async () => {
  assert.is((await read(ada.user_id, daniel.key)).status, 403);
  assert.is((await read(`c${'0'.repeat(24)}`)).status, 404);
});

test('a tenant sees when a member used a key of this tenant, and nothing of their use of another tenant', async () => {
  const other = await createSecondTenant(p);
  const there = await addMember(p, 'MEMBER', other.id, 'lise@example.com');
  const here = await addMember(p, 'MEMBER', p.tenant_id, 'lise@example.com');
  assert.is(here.user_id, there.user_id);
  const seen = async () => {
    await p.recordPending();
    await p.waitForProjections();
    const listed = (await p.send('GET', `${p.tenant}/members/activity?user_id=${here.user_id}`)).body as { last_seen_at: string | null }[];
    const { detail } = await read(here.user_id);
    assert.is(detail.last_seen_at, listed[0]!.last_seen_at);
    return detail.last_seen_at;
  };
  assert.is((await p.send('GET', `${other.tenant}/agents`, { key: there.key })).status, 200);
  assert.is(await seen(), null);
  const start = new Date().toISOString();
  assert.is((await p.send('GET', `${p.tenant}/agents`, { key: here.key })).status, 200);
  const at = await seen();
  assert.ok(at !== null && at >= start, `${at}`);
  assert.is((await p.send('GET', `${p.tenant}/members/${here.user_id}?as_of=${at}`)).status, 200);
});

test('as of an earlier time, a member is shown with the access of that time', async () => {
  const before = p.eventsOf('AgentAccessGranted')[0]!;
  const as_of = `${before.position.commit}:${before.position.prepare - 1n}`;
  const { body } = await p.send('GET', `${p.tenant}/members/${daniel.user_id}?as_of=${as_of}`);
  assert.equal(
    (body as Detail).access.map(({ agent_name }) => agent_name),
    ['Refund Desk'],
  );
});

const about = async (id: string): Promise<string[]> =>
  ((await p.send('GET', `${p.tenant}/audit-logs?about=${id}`)).body as Entry[]).map(({ action }) => action);

test('the audit log finds what concerns a person, an agent or another resource, whatever stream it is in', async () => {
  assert.equal(await about(daniel.user_id), [
    'agent.access_granted',
    'agent.role_assigned',
    'api_key.created',
    'member.added',
    'user.registered',
  ]);
  assert.ok((await about(desk)).includes('agent.role_assigned'));
  assert.equal(await about('nothing'), []);
  const { text } = await p.send('GET', `${p.tenant}/audit-logs/export?about=${daniel.user_id}`);
  assert.is(text.trim().split('\n').length, 5);
});

test('the audit log also finds what ends rights of a person: a transfer, and the end of a key', async () => {
  const eve = await add('ADMIN', 'eve');
  const agent = await createAgent(p, 'Handed over');
  const transfer = (user_id: string) =>
    p.send('POST', `${p.tenant}/agents/${agent}/transfer-ownership`, { body: { new_owner_id: user_id } });
  assert.is((await transfer(eve.user_id)).status, 200);
  assert.is((await transfer(daniel.user_id)).status, 200);
  const { id } = p.eventsOf('ApiKeyCreated').find(({ data }) => (data as { owner_id: string }).owner_id === eve.user_id)!;
  assert.is((await p.send('DELETE', `${p.tenant}/api-keys/${id}`, { key: eve.key })).status, 204);
  await p.waitForProjections();
  const found = await about(eve.user_id);
  assert.equal(
    [...new Set(found)].toSorted(),
    ['agent.ownership_transferred', 'api_key.created', 'api_key.revoked', 'member.added', 'user.registered'],
    'received, and handed over',
  );
  assert.is(found.filter((action) => action === 'agent.ownership_transferred').length, 2);
});

test('the filter `about` together with a filter for an agent or a resource selects entries that match both', async () => {
  const found = async (query: string) => (await p.send('GET', `${p.tenant}/audit-logs?${query}`)).body as { resource_id: string }[];
  const both = await found(`about=${daniel.user_id}&agent_id=${desk}`);
  assert.ok(both.length > 0 && both.every(({ resource_id }) => resource_id === desk));
  assert.equal(await found(`about=${desk}&agent_id=${garden}`), []);
});

test('each permission on an agent names who decided it', async () => {
  const { body } = await p.send('GET', `${p.tenant}/agents/${desk}/effective-permissions?user_id=${daniel.user_id}`);
  const { permissions } = body as { permissions: { label: string; decided_by: Given }[] };
  assert.is(permissions.find(({ label }) => label === 'View')!.decided_by!.actor_email, 'ada@example.com');
});

test('the page of a member is one click from the list, and says who gave each access', async () => {
  const list = (await p.open(`${p.base}/members`)).text;
  assert.match(list, new RegExp(`href="${p.base}/members/${daniel.user_id}"`));
  const { text } = await p.open(`${p.base}/members/${daniel.user_id}`);
  assert.match(text, /data-kind="member-access"[\s\S]+Docs Garden[\s\S]+Refund Desk[\s\S]+MANAGER[\s\S]+by ada@example\.com/);
  const history = await p.open(`${p.base}/members/${daniel.user_id}?tab=history`);
  assert.match(history.text, new RegExp(`/audit\\?about=${daniel.user_id}`));
  assert.match((await p.open(`${p.base}/audit?about=${daniel.user_id}`)).text, /granted/);
});

test.run();
