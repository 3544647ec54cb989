import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Line = { action: string; user_id: string | null; agent_id: string | null; ip: string | null; meta: Record<string, unknown> };

test("if a caller is refused for a missing permission, the tenant's audit log records the caller, the request and the permission", async () => {
  const p = await createTestPlatform();
  const member = await addMember(p, 'MEMBER');
  const other = await createSecondTenant(p);
  assert.is((await p.send('PATCH', p.tenant, { key: member.key, body: { name: 'Mine' } })).status, 403);
  assert.is((await p.send('GET', '/admin/tenants', { key: member.key })).status, 403);
  assert.is(
    (await p.send('GET', other.tenant, { key: member.key })).status,
    404,
    'a foreign tenant is not found: no refusal is recorded there',
  );
  assert.is((await p.send('GET', other.tenant)).status, 403, 'a super-admin without a break-glass');
  assert.equal(p.eventsOf('AccessRefused'), [], 'refusals are recorded after the response');
  await p.recordPending();
  await p.waitForProjections();
  const lines = async (path: string, key?: string) =>
    ((await p.send('GET', `${path}?action=access.refused`, key ? { key } : {})).body as Line[]).map(({ user_id, ip, meta }) => ({
      user_id,
      ip,
      ...meta,
    }));
  const me = ((await p.send('GET', '/me')).body as { user: { id: string } }).user.id;
  assert.equal(await lines(`${p.tenant}/audit-logs`), [
    {
      user_id: member.user_id,
      ip: '127.0.0.1',
      method: 'PATCH',
      path: p.tenant,
      code: 'forbidden',
      permission: 'tenant:settings:write',
      agent_id: null,
    },
  ]);
  assert.equal(
    (await lines('/admin/audit-logs')).map(({ user_id }) => user_id),
    [member.user_id],
  );
  assert.equal(
    (await lines(`${other.tenant}/audit-logs`, other.key)).map(({ user_id }) => user_id),
    [me],
  );
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test('in each minute, the first 60 refusals of a caller have an audit log entry each; the others in that minute are counted, and recorded together in one entry', async () => {
  const p = await createTestPlatform();
  const now = Date.UTC(2030, 0, 1);
  p.clock.now = () => now;
  const member = await addMember(p, 'MEMBER');
  for (let index = 0; index < 100; index++)
    assert.is((await p.send('DELETE', `${p.tenant}/members/${member.user_id}`, { key: member.key })).status, 403);
  await p.recordPending();
  assert.is(p.eventsOf('AccessRefused').length, 60);
  assert.equal(
    p.eventsOf('AccessRefusalsCounted').map(({ data }) => data),
    [{ caller: member.user_id, count: 40, first: new Date(now).toISOString(), last: new Date(now).toISOString() }],
  );
  await p.close();
});

test.run();
