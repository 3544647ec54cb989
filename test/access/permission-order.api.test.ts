import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const idOf = ({ body }: Answer): string => (body as Json).id as string;
const agent_id = idOf(await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } }));
const agent = `${p.tenant}/agents/${agent_id}`;
const [member, auditor] = [await addMember(p, 'MEMBER'), await addMember(p, 'AUDITOR')];

test('break-glass access ends when the tenant disallows access by super-admins, and only a new request restores it', async () => {
  const { id, tenant, key } = await createSecondTenant(p);
  const open = () => p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'a question', minutes: 60 } });
  const allow = (allow_superadmin_access: boolean | null) => p.send('PATCH', tenant, { key, body: { allow_superadmin_access } });
  const statusOfRead = async () => (await p.send('GET', tenant)).status;
  await open();
  assert.is(await statusOfRead(), 200);
  await allow(false);
  assert.is(await statusOfRead(), 403);
  await allow(true);
  assert.is(await statusOfRead(), 403, 'after the tenant has allowed it again');
  assert.is((await open()).status, 201);
  assert.is(await statusOfRead(), 200, 'after another break-glass');
  await allow(false);
  await allow(null);
  assert.is(await statusOfRead(), 403, 'after the setting was reset');
});

test('reading the deliveries of an agent gets 403 for callers who may see the agent, and 404 for callers who may not', async () => {
  const body = { provider: 'github', agent_id, label: 'Code', secret: SECRET };
  const hook = idOf(await p.send('POST', `${p.tenant}/webhook-integrations`, { body }));
  const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'push', 'x-hub-signature-256': sign('{}') };
  const delivery = idOf(await p.send('POST', `/hooks/inbound/${hook}`, { raw: '{}', headers }));
  await p.waitForProjections();
  for (const path of [`/deliveries/${delivery}`, `/deliveries/${delivery}/body`, `/webhook-integrations/${hook}/deliveries`]) {
    const refused = await p.send('GET', p.tenant + path, { key: auditor.key });
    assert.equal([refused.status, (refused.body as Json).permission], [403, 'agent:chat:read'], path);
    assert.is((await p.send('GET', p.tenant + path, { key: member.key })).status, 404, path);
    assert.is((await p.send('GET', p.tenant + path)).status, 200, path);
  }
});

test('if a caller may not restore an agent or grant access to it, a request to do so gets 403 or 404 even if its body is invalid, and not 422', async () => {
  const wrong = { nonsense: true };
  for (const [key, status] of [
    [member.key, 404],
    [auditor.key, 403],
    [p.key, 422],
  ] as const) {
    assert.is((await p.send('POST', `${agent}/restore`, { key, body: wrong })).status, status);
    assert.is((await p.send('PUT', `${p.tenant}/agent-grants`, { key, body: { agent_id, ...wrong } })).status, status);
    assert.is((await p.send('PUT', `${p.tenant}/agent-grants`, { key, body: { agent_id, user_id: 'x', role: 'KING' } })).status, status);
  }
});

test('a MANAGER of an agent can restore an earlier revision, but only an OWNER can restore the deleted agent', async () => {
  await p.send('PUT', `${agent}/roles/${member.user_id}`, { body: { role: 'MANAGER' } });
  const restore = (body: object) => p.send('POST', `${agent}/restore`, { key: member.key, body });
  assert.equal([(await restore({ revision: 0 })).status, (await restore({})).status], [200, 403]);
  await p.send('DELETE', agent);
  assert.is((await restore({})).status, 403);
  await p.send('POST', `${agent}/restore`, { body: {} });
  await p.send('PUT', `${agent}/roles/${member.user_id}`, { body: { role: 'OWNER' } });
  await p.send('DELETE', agent);
  assert.is((await restore({})).status, 200);
});

afterLastTest(() => p.close());

test.run();
