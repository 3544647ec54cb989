import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueKey } from '../../commands/identity/api-key.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Me = {
  user: { email: string; is_super_admin: boolean } | null;
  tenants: { id: string; role: string | null; permissions: string[] }[];
  agent: { id: string } | null;
  permissions: string[];
};

test('/me with a platform key shows all tenants of the user; with a tenant key only its own tenant', async () => {
  const p = await createTestPlatform();
  const other = await createSecondTenant(p);
  const me = async (key?: string) => (await p.send('GET', '/me', key ? { key } : {})).body as Me;
  await p.send('POST', `${other.tenant}/members`, { key: other.key, body: { email: 'admin@annals.localhost', role: 'AUDITOR' } });
  await p.waitForProjections();
  const platformKey = await me();
  assert.equal(
    platformKey.tenants.map(({ id, role }) => [id, role]),
    [
      [p.tenant_id, 'OWNER'],
      [other.id, 'AUDITOR'],
    ],
  );
  assert.equal(platformKey.tenants[1]!.permissions, ['tenant:read', 'tenant:audit:read']);
  assert.equal(platformKey.permissions, ['platform']);
  const owner = await me(other.key);
  assert.equal(
    owner.tenants.map(({ id, role }) => [id, role]),
    [[other.id, 'OWNER']],
  );
  assert.ok(owner.permissions.includes('tenant:close') && !owner.permissions.includes('platform'));
  const member = await addMember(p, 'MEMBER');
  assert.equal((await me(member.key)).permissions, ['tenant:read', 'tenant:agents:create']);
  await p.close();
});

test('/me shows whether the credential may operate the platform, which can differ from what its owner may do', async () => {
  const p = await createTestPlatform();
  const { user_id, key } = await addMember(p, 'MEMBER');
  assert.is((await p.send('PATCH', `/api/v1/admin/users/${user_id}`, { body: { is_super_admin: true } })).status, 200);
  const isSuperAdmin = async (of: string) => ((await p.send('GET', '/me', { key: of })).body as Me).user!.is_super_admin;
  assert.equal([await isSuperAdmin(p.key), await isSuperAdmin(key)], [true, false]);
  await p.close();
});

test('/me with a tenant in the query shows a super-admin when their break-glass access to it ends; for other users, it shows no such time', async () => {
  const p = await createTestPlatform();
  const other = await createSecondTenant(p);
  const glass = async (key = p.key, tenant_id = other.id) =>
    ((await p.send('GET', `/me?tenant_id=${tenant_id}`, { key })).body as { break_glass: object | null }).break_glass;
  assert.is(await glass(), null);
  const opened = await p.send('POST', `/admin/tenants/${other.id}/break-glass`, { body: { reason: 'Support', minutes: 10 } });
  const { until } = opened.body as { until: string };
  assert.equal(await glass(), { tenant_id: other.id, name: 'neighbour', until });
  assert.equal(
    [await glass(other.key), await glass((await addMember(p, 'ADMIN')).key), await glass(p.key, p.tenant_id)],
    [null, null, null],
  );
  await p.send('PATCH', other.tenant, { key: other.key, body: { allow_superadmin_access: false } });
  assert.is(await glass(), null, 'the tenant has closed the door');
  await p.close();
});

test('/me with a runner key shows the agent of the key, and no permissions of a user', async () => {
  const p = await createTestPlatform();
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'A', slug: 'a' } })).body as { id: string };
  const { key } = (await p.send('POST', `${p.tenant}/agents/${agent.id}/runner-keys`, { body: { name: 'r' } })).body as { key: string };
  const me = (await p.send('GET', '/me', { key })).body as Me;
  assert.is(me.user, null);
  assert.is(me.agent?.id, agent.id);
  assert.equal(me.permissions, []);
  assert.equal(
    me.tenants.map(({ id, role, permissions }) => ({ id, role, permissions })),
    [{ id: p.tenant_id, role: null, permissions: [] }],
  );
  await p.close();
});

test('/me shows all tenants of a user, even if one page cannot hold them, and tenant_count counts all of them', async () => {
  const p = await createTestPlatform();
  const COUNT = 203;
  const owner_email = 'many@example.com';
  for (let n = 0; n < COUNT; n++) await p.send('POST', '/admin/tenants', { body: { name: `T${n}`, slug: `t${n}`, owner_email } });
  await p.waitForProjections();
  const rows = async () => (await p.send('GET', `/api/v1/admin/users?q=${owner_email}`)).body as { id: string; tenant_count: number }[];
  const [{ id, tenant_count }] = (await rows()) as [{ id: string; tenant_count: number }];
  assert.is(tenant_count, COUNT);
  const changed = await p.send('PATCH', `/api/v1/admin/users/${id}`, { body: { is_super_admin: true } });
  assert.is((changed.body as { tenant_count: number }).tenant_count, COUNT);
  const fields = { name: 'Mine', expires_at: null };
  const created = await issueKey(p.systemContext(), { kind: 'platform', tenant_id: null, agent_id: null, owner_id: id }, fields);
  const me = (await p.send('GET', '/me', { key: created.state.key })).body as Me;
  assert.is(new Set(me.tenants.map((tenant) => tenant.id)).size, COUNT);
  await p.close();
});

test.run();
