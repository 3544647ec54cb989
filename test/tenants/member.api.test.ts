import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Platform = Awaited<ReturnType<typeof createTestPlatform>>;

const bodyOf = <T = Record<string, unknown>>({ body }: Answer): T => body as T;

/** Creates a tenant with one member of each role. @returns their API keys */
const tenantWithMembers = async (p: Platform) => {
  const created = bodyOf<{ id: string; owner_key: string }>(
    await p.send('POST', '/admin/tenants', { body: { name: 'Acme', slug: 'acme', owner_email: 'owner@acme.test' } }),
  );
  const tenant = `/tenant/${created.id}`;
  const invite = async (role: string) => {
    const answer = await p.send('POST', `${tenant}/members`, {
      key: created.owner_key,
      body: { email: `${role.toLowerCase()}@acme.test`, role },
    });
    assert.is(answer.status, 201, answer.text);
    const { user_id } = bodyOf<{ user_id: string }>(answer);
    return { user_id, key: await p.createKey(created.id, user_id) };
  };
  return {
    tenant,
    id: created.id,
    owner: created.owner_key,
    admin: await invite('ADMIN'),
    member: await invite('MEMBER'),
    auditor: await invite('AUDITOR'),
  };
};

const agentIn = async (p: Platform, tenant: string, key: string, slug: string): Promise<string> =>
  bodyOf<{ id: string }>(await p.send('POST', `${tenant}/agents`, { key, body: { name: 'Agent', slug } })).id;

test('the list of agents contains, for a member, only agents on which the member has a role or grant', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member, auditor } = await tenantWithMembers(p);
  const agent = await agentIn(p, tenant, owner, 'one');
  const path = `${tenant}/agents/${agent}`;
  const statuses = async () => [
    (await p.send('GET', path, { key: member.key })).status,
    bodyOf<unknown[]>(await p.send('GET', `${tenant}/agents`, { key: member.key })).length,
  ];
  assert.equal(await statuses(), [404, 0]);
  assert.is((await p.send('GET', path, { key: auditor.key })).status, 200);
  assert.is((await p.send('PATCH', path, { key: auditor.key, body: { voice: 'alto' } })).status, 403);
  const first = await p.send('POST', `${path}/grants`, { key: owner, body: { user_id: member.user_id } });
  assert.is(first.status, 201);
  assert.equal(await statuses(), [200, 1]);
  assert.is((await p.send('PATCH', path, { key: member.key, body: { voice: 'alto' } })).status, 403);
  const again = await p.send('PUT', `${tenant}/agent-grants`, {
    key: owner,
    body: { user_id: member.user_id, agent_id: agent, role: 'EDITOR' },
  });
  assert.is(again.status, 200, again.text);
  assert.is((await p.send('PATCH', path, { key: member.key, body: { voice: 'alto' } })).status, 200);
  const gone = await p.send('PUT', `${tenant}/agent-grants`, {
    key: owner,
    body: { user_id: member.user_id, agent_id: agent, role: null },
  });
  assert.is(gone.status, 204);
  assert.equal(await statuses(), [404, 0]);
  await p.close();
});

test('roles on agents end with the membership: a member who leaves and rejoins the tenant has no roles on agents', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member } = await tenantWithMembers(p);
  const path = `${tenant}/agents/${await agentIn(p, tenant, owner, 'one')}`;
  assert.is((await p.send('PUT', `${path}/roles/${member.user_id}`, { key: owner, body: { role: 'MANAGER' } })).status, 200);
  assert.is((await p.send('GET', path, { key: member.key })).status, 200);
  assert.is((await p.send('DELETE', `${tenant}/members/${member.user_id}`, { key: owner })).status, 204);
  assert.is(bodyOf(await p.send('GET', path, { key: member.key })).code, 'key_owner_inactive');
  p.clock.now = () => Date.now() + 5_000;
  assert.is((await p.send('POST', `${tenant}/members`, { key: owner, body: { email: 'member@acme.test' } })).status, 201);
  assert.is((await p.send('GET', path, { key: member.key })).status, 404);
  assert.equal(bodyOf<unknown[]>(await p.send('GET', `${tenant}/agents`, { key: member.key })), []);
  await p.close();
});

test('removing the last OWNER of a tenant, or of an agent, is refused', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, admin, member } = await tenantWithMembers(p);
  const own = bodyOf<{ user: { id: string } }>(await p.send('GET', '/me', { key: owner })).user.id;
  assert.is((await p.send('DELETE', `${tenant}/members/${own}`, { key: owner })).status, 409);
  assert.is((await p.send('PATCH', `${tenant}/members/${own}`, { key: owner, body: { role: 'ADMIN' } })).status, 409);
  assert.is((await p.send('PATCH', `${tenant}/members/${own}`, { key: admin.key, body: { role: 'MEMBER' } })).status, 403);
  const agent = await agentIn(p, tenant, member.key, 'mine');
  const path = `${tenant}/agents/${agent}`;
  assert.is((await p.send('DELETE', `${path}/roles/${member.user_id}`, { key: owner })).status, 409);
  const removal = await p.send('DELETE', `${tenant}/members/${member.user_id}`, { key: owner });
  assert.is(removal.status, 409);
  assert.equal(bodyOf(removal).agent_ids, [agent]);
  assert.is((await p.send('POST', `${path}/transfer-ownership`, { key: member.key, body: { new_owner_id: own } })).status, 200);
  const held = bodyOf<{ user_id: string; role: string }[]>(await p.send('GET', `${path}/roles`, { key: owner }));
  assert.equal(Object.fromEntries(held.map(({ user_id, role }) => [user_id, role])), { [own]: 'OWNER', [member.user_id]: 'MANAGER' });
  assert.is((await p.send('DELETE', `${tenant}/members/${member.user_id}`, { key: owner })).status, 204);
  await p.close();
});

test('removing the only owner of a new agent is refused, even if the read model does not contain the agent yet', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member, admin } = await tenantWithMembers(p);
  await p.waitForProjections();
  const remove = (user_id: string) => p.send('DELETE', `${tenant}/members/${user_id}`, { key: owner });
  p.projectionDelay.ms = 100;
  const agent = await agentIn(p, tenant, member.key, 'new');
  const removal = await remove(member.user_id);
  assert.is(removal.status, 409);
  assert.equal(bodyOf(removal).agent_ids, [agent]);
  assert.is((await remove(admin.user_id)).status, 204);
  await p.waitForProjections();
  p.projectionDelay.ms = 3_000;
  await agentIn(p, tenant, member.key, 'newer');
  const removalTooEarly = await remove(member.user_id);
  assert.is(bodyOf(removalTooEarly).code, 'not_caught_up');
  assert.is(removalTooEarly.headers.get('retry-after'), '1');
  assert.is((await p.send('GET', '/me', { key: member.key })).status, 200);
  await p.close();
});

test('each effective permission of a user names the event that granted it; a permission that the user does not have names no event', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member } = await tenantWithMembers(p);
  const path = `${tenant}/agents/${await agentIn(p, tenant, owner, 'one')}`;
  await p.send('PUT', `${path}/roles/${member.user_id}`, { key: owner, body: { role: 'VIEWER' } });
  const { permissions } = bodyOf<{ permissions: { id: string; label: string; allowed: boolean; decided_by: { type: string } | null }[] }>(
    await p.send('GET', `${path}/effective-permissions?user_id=${member.user_id}`, { key: owner }),
  );
  const of = (label: string) => permissions.find((permission) => permission.label === label)!;
  assert.is(of('View').decided_by?.type, 'AgentRoleAssigned');
  assert.equal([of('View').id, of('Edit settings').id], ['agent:read', 'agent:settings:write']);
  assert.equal([of('Delete agent').allowed, of('Delete agent').decided_by], [false, null]);
  await p.waitForProjections();
  const listed = async () => bodyOf<unknown[]>(await p.send('GET', `${tenant}/agents`, { key: member.key })).length;
  assert.is(await listed(), 1);
  const shrunk = await p.send('PUT', `${tenant}/agent-role-permissions`, { key: owner, body: { roles: { VIEWER: [] } } });
  assert.is(shrunk.status, 200);
  const { roles, permissions: identified } = bodyOf<Record<'roles' | 'permissions', Record<string, unknown[]>>>(
    await p.send('GET', `${tenant}/agent-role-permissions`, { key: owner }),
  );
  assert.equal([roles.VIEWER, identified.VIEWER], [[], []]);
  assert.is(roles.MANAGER?.[3], 'Edit settings');
  assert.equal(identified.MANAGER?.[3], { id: 'agent:settings:write', label: 'Edit settings' });
  assert.is((await p.send('GET', path, { key: member.key })).status, 404);
  assert.is(await listed(), 0);
  assert.is((await p.send('PUT', `${tenant}/agent-role-permissions`, { key: owner, body: { roles: { OWNER: ['View'] } } })).status, 422);
  await p.close();
});

test('members who may read an agent can read their own permissions on it; members who manage the roles on the agent can read those of everyone', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member, admin } = await tenantWithMembers(p);
  const path = `${tenant}/agents/${await agentIn(p, tenant, owner, 'one')}`;
  const ask = async (key: string, query: string) => (await p.send('GET', `${path}/effective-permissions${query}`, { key })).status;
  const others = `?user_id=${admin.user_id}`;
  assert.equal([await ask(member.key, ''), await ask(member.key, others)], [404, 404]);
  for (const role of ['VIEWER', 'MANAGER'] as const) {
    await p.send('PUT', `${path}/roles/${member.user_id}`, { key: owner, body: { role } });
    assert.equal(
      [await ask(member.key, ''), await ask(member.key, `?user_id=${member.user_id}`), await ask(member.key, others)],
      [200, 200, 403],
    );
    assert.is(await ask(member.key, `${others}&as_of=${new Date().toISOString()}`), 403, 'an as-of read needs the same permission');
  }
  await p.send('PUT', `${path}/roles/${member.user_id}`, { key: owner, body: { role: 'OWNER' } });
  assert.is(await ask(member.key, others), 200);
  await p.close();
});

test('restoring a deleted agent needs the permission agent:delete; restoring an earlier revision needs agent:settings:write', async () => {
  const p = await createTestPlatform();
  const { tenant, owner, member } = await tenantWithMembers(p);
  const path = `${tenant}/agents/${await agentIn(p, tenant, owner, 'one')}`;
  await p.send('PATCH', path, { key: owner, body: { name: 'Changed' } });
  const restore = async (body: object) => (await p.send('POST', `${path}/restore`, { key: member.key, body })).status;
  const mayOnly = async (...labels: string[]) => {
    await p.send('PUT', `${tenant}/agent-role-permissions`, { key: owner, body: { roles: { VIEWER: labels } } });
    const before = p.log.events.length;
    const found = [await restore({ revision: 0 }), await restore({})];
    return { found, changed: p.log.events.slice(before).some(({ category }) => category === 'agent') };
  };
  await p.send('PUT', `${path}/roles/${member.user_id}`, { key: owner, body: { role: 'VIEWER' } });
  assert.equal(await mayOnly('View'), { found: [403, 403], changed: false });
  assert.is((await mayOnly('View', 'Delete agent')).found[0], 403);
  assert.equal(await mayOnly('View', 'Edit settings'), { found: [200, 403], changed: true });
  await p.send('DELETE', path, { key: owner });
  assert.equal(await mayOnly('View', 'Edit settings'), { found: [403, 403], changed: false });
  assert.equal((await mayOnly('View', 'Delete agent')).found[1], 200);
  await p.close();
});

test("requests by members of a suspended tenant get 403; a super-admin can read a tenant only after a break-glass request, which the tenant's audit log shows", async () => {
  const p = await createTestPlatform();
  const { id, tenant, owner } = await tenantWithMembers(p);
  assert.is((await p.send('POST', `/admin/tenants/${id}/suspend`, { body: { reason: 'unpaid' } })).status, 200);
  assert.is(bodyOf(await p.send('GET', `${tenant}/agents`, { key: owner })).code, 'tenant_suspended');
  assert.is((await p.send('POST', `/admin/tenants/${id}/resume`, { body: { reason: 'paid' } })).status, 200);
  assert.is((await p.send('GET', `${tenant}/agents`, { key: owner })).status, 200);
  assert.is((await p.send('GET', `${tenant}/agents`)).status, 403);
  assert.is((await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'a ticket', minutes: 5 } })).status, 201);
  assert.is((await p.send('GET', `${tenant}/agents`)).status, 200);
  assert.is((await p.send('POST', `${tenant}/agents`, { body: { name: 'No', slug: 'no' } })).status, 403);
  const lines = bodyOf<{ action: string }[]>(await p.send('GET', `${tenant}/audit-logs`, { key: owner })).map(({ action }) => action);
  assert.ok(lines.includes('super_admin.read') && lines.includes('super_admin.access_opened'), lines.join(' '));
  assert.is((await p.send('PATCH', tenant, { key: owner, body: { allow_superadmin_access: false } })).status, 200);
  assert.is((await p.send('GET', `${tenant}/agents`)).status, 403);
  assert.is((await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'a ticket', minutes: 5 } })).status, 403);
  await p.close();
});

test('after the platform has switched external mail off for a tenant, a request of the tenant to switch it on is refused', async () => {
  const p = await createTestPlatform();
  const { id, tenant, owner } = await tenantWithMembers(p);
  const setByPlatform = (external_mail_enabled: boolean) => p.send('PATCH', `/admin/tenants/${id}`, { body: { external_mail_enabled } });
  const enableByTenant = () => p.send('PATCH', tenant, { key: owner, body: { external_mail_enabled: true } });
  const answer = await setByPlatform(false);
  assert.equal([answer.status, bodyOf(answer).external_mail_enabled], [200, false]);
  assert.is((await setByPlatform(false)).headers.get('etag'), answer.headers.get('etag'));
  assert.equal([(await enableByTenant()).status, p.eventsOf('TenantUpdated').length], [409, 1]);
  assert.is((await setByPlatform(true)).status, 200);
  assert.equal([(await enableByTenant()).status, p.eventsOf('TenantUpdated').length], [200, 2]);
  await p.waitForProjections();
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test('the list of users shows the tenants of each user; a request of a super-admin to remove their own access is refused', async () => {
  const p = await createTestPlatform();
  const { id, member } = await tenantWithMembers(p);
  const rows = bodyOf<{ id: string; email: string; tenant_count: number; primary_tenant: unknown }[]>(
    await p.send('GET', '/api/v1/admin/users?q=member@'),
  );
  assert.equal(
    rows.map(({ email, tenant_count, primary_tenant }) => ({ email, tenant_count, primary_tenant })),
    [{ email: 'member@acme.test', tenant_count: 1, primary_tenant: { id, name: 'Acme', role: 'MEMBER' } }],
  );
  assert.is((await p.send('PATCH', `/api/v1/admin/users/${member.user_id}`, { body: { is_suspended: true } })).status, 200);
  assert.is(bodyOf(await p.send('GET', '/me', { key: member.key })).code, 'key_owner_inactive');
  const own = bodyOf<{ user: { id: string } }>(await p.send('GET', '/me')).user.id;
  assert.is((await p.send('PATCH', `/api/v1/admin/users/${own}`, { body: { is_super_admin: false } })).status, 409);
  await p.close();
});

test.run();
