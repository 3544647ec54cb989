import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const otherTenant = await createSecondTenant(p);
const MISSING = `c${'0'.repeat(24)}`;
const NO_TENANT = `c${'1'.repeat(24)}`;
const idOf = ({ body }: Answer): string => (body as Json).id as string;

/** Sends a signed delivery to the integration's webhook URL. @returns the id of the delivery */
const deliver = async (hook: string): Promise<string> => {
  const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'push', 'x-hub-signature-256': sign('{}') };
  return idOf(await p.send('POST', `/hooks/inbound/${hook}`, { raw: '{}', headers }));
};

/** Creates one resource of each kind in the tenant of the key. */
const createResources = async (tenant: string, key: string) => {
  const post = async (path: string, body: object) => idOf(await p.send('POST', tenant + path, { key, body }));
  const agent = await post('/agents', { name: 'Agent', slug: 'agent' });
  const hook = await post('/webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET });
  return {
    agent_id: agent,
    key: await post('/api-keys', { name: 'k' }),
    runner: await post(`/agents/${agent}/runner-keys`, { name: 'r' }),
    hook,
    delivery: await deliver(hook),
    skill: await post('/skills', { name: 'S', slug: 's', description: 'd', instructions: 'i' }),
    model: p.eventsOf('ModelRegistered')[0]!.id,
  };
};
const { key: admin } = await addMember(p, 'OWNER');
const [ours, foreign] = [await createResources(p.tenant, admin), await createResources(otherTenant.tenant, otherTenant.key)];

const comparable = ({ status, headers, text }: Answer, id: string) => ({
  status,
  text: text.replaceAll(id, 'ID').replace(/"request_id":"[^"]+"/, ''),
  headers: [...headers].filter(([name]) => !['x-request-id', 'projection-position', 'projection-lag'].includes(name)),
});

/**
 * Routes below a tenant. Each row has the method, the path, the kind of resource, and the body. The id of a resource of
 * this kind replaces `ID` in the path.
 */
const ROUTES: [string, string, keyof typeof ours, unknown?][] = [
  ['GET', '/agents/ID', 'agent_id'],
  ['PATCH', '/agents/ID', 'agent_id', { voice: 'v' }],
  ['DELETE', '/agents/ID', 'agent_id'],
  ['GET', '/agents/ID/models', 'agent_id'],
  ['PUT', '/agents/ID/models', 'agent_id', { model_ids: [ours.model] }],
  ['GET', '/agents/ID/roles', 'agent_id'],
  ['GET', '/agents/ID/history', 'agent_id'],
  ['GET', '/agents/ID/runner-keys', 'agent_id'],
  ['POST', '/agents/ID/runner-keys', 'agent_id', { name: 'r' }],
  ['DELETE', `/agents/${ours.agent_id}/runner-keys/ID`, 'runner'],
  ['GET', '/agents/ID/runner-credentials', 'agent_id'],
  ['GET', '/skills/ID', 'skill'],
  ['PATCH', '/skills/ID', 'skill', { name: 'x' }],
  ['DELETE', '/skills/ID', 'skill'],
  ['GET', '/agents/ID/skills', 'agent_id'],
  ['POST', '/agents/ID/skills', 'agent_id', { skill_id: ours.skill }],
  ['DELETE', `/agents/${ours.agent_id}/skills/ID`, 'skill'],
  ['GET', `/agents/${ours.agent_id}/skills/ID/config`, 'skill'],
  ['PATCH', `/agents/${ours.agent_id}/skills/ID/config`, 'skill', { config: {} }],
  ['GET', '/agents/ID/skill-permissions', 'agent_id'],
  ['PUT', '/agents/ID/skill-permissions', 'agent_id', { permissions: [] }],
  ['DELETE', '/api-keys/ID', 'key'],
  ['DELETE', '/api-keys/ID', 'runner'],
  ['GET', '/webhook-integrations/ID', 'hook'],
  ['PATCH', '/webhook-integrations/ID', 'hook', { label: 'x' }],
  ['DELETE', '/webhook-integrations/ID', 'hook'],
  ['POST', '/webhook-integrations/ID/rotate-secret', 'hook', {}],
  ['GET', '/webhook-integrations/ID/deliveries', 'hook'],
  ['GET', '/deliveries/ID', 'delivery'],
  ['GET', '/deliveries/ID/body', 'delivery'],
];

test("the id of another tenant's resource in a path under the caller's own tenant gets the same response as an id that does not exist, with and without If-Match", async () => {
  await p.waitForProjections();
  const before = p.log.events.length;
  const conditions: Record<string, string>[] = [{}, { 'if-match': '"0"' }, { 'if-match': '"9"' }];
  for (const headers of conditions)
    for (const [method, path, name, body] of ROUTES) {
      const ask = async (id: string) =>
        comparable(
          await p.send(method, p.tenant + path.replace('ID', id), { key: admin, headers, ...(body === undefined ? {} : { body }) }),
          id,
        );
      const [of, missing] = [await ask(foreign[name]), await ask(MISSING)];
      assert.is(of.status, 404, `${method} ${path}: ${of.text}`);
      assert.equal(of, missing, `${method} ${path}`);
    }
  assert.is(p.log.events.length, before, 'no event was appended');
});

test('a path with the id of another tenant gets the same response as a path with the id of a tenant that does not exist, whatever the rest of the path is', async () => {
  for (const [method, path, name, body] of [
    ...ROUTES,
    ['GET', '', 'key'],
    ['GET', '/agents', 'key'],
    ['GET', '/audit-logs', 'key'],
  ] as typeof ROUTES)
    for (const id of [foreign[name], ours[name], MISSING]) {
      const ask = async (tenant: string) =>
        comparable(
          await p.send(method, `/tenant/${tenant}${path.replace('ID', id)}`, { key: admin, ...(body === undefined ? {} : { body }) }),
          tenant,
        );
      const [of, missing] = [await ask(otherTenant.id), await ask(NO_TENANT)];
      assert.is(of.status, 404, `${method} ${path}: ${of.text}`);
      assert.equal(of, missing, `${method} ${path}`);
    }
});

test("the id of another tenant's agent in a request body gets the same response as an id that does not exist", async () => {
  const ask = (agent_id: string) =>
    p.send('POST', `${p.tenant}/webhook-integrations`, { key: admin, body: { provider: 'github', agent_id, label: 'x' } });
  assert.equal(comparable(await ask(foreign.agent_id), foreign.agent_id), comparable(await ask(MISSING), MISSING));
});

test('each list in a tenant contains only resources of that tenant', async () => {
  await p.waitForProjections();
  const secrets = Object.values({ ...foreign, model: 'none', tenant: otherTenant.id });
  for (const path of [
    '/agents',
    '/api-keys',
    '/skills',
    '/webhook-integrations',
    '/audit-logs?limit=200',
    '/members',
    `/agents/${ours.agent_id}/runner-keys`,
  ]) {
    const { status, text } = await p.send('GET', p.tenant + path, { key: admin });
    assert.is(status, 200, path);
    for (const secret of secrets) assert.not.ok(text.includes(secret), `${path} shows ${secret}`);
  }
});

test("each read of a tenant's data by a super-admin, even of a delivery's body, is recorded as an event of that tenant", async () => {
  const paths = [`/deliveries/${foreign.delivery}/body`, `/agents/${foreign.agent_id}`, '/audit-logs'].map(
    (path) => otherTenant.tenant + path,
  );
  const recordedReads = () => p.eventsOf('SuperAdminRead').filter(({ meta }) => meta.tenant === otherTenant.id).length;
  for (const path of paths) assert.is((await p.send('GET', path)).status, 403, path);
  assert.is(recordedReads(), 0);
  await p.send('POST', `/admin/tenants/${otherTenant.id}/break-glass`, { body: { reason: 'a question', minutes: 5 } });
  await p.waitForProjections();
  for (const [index, path] of paths.entries()) {
    assert.is((await p.send('GET', path)).status, 200, path);
    assert.is(recordedReads(), index + 1, path);
  }
  assert.is((await p.send('PATCH', paths[1]!, { body: { voice: 'v' } })).status, 403, 'a super-admin may only read');
});

test("a request to a platform operation with a tenant's API key is refused; a malformed id gets 404 like an id that does not exist", async () => {
  for (const path of [
    '/admin/tenants',
    '/admin/models',
    '/admin/api-keys',
    '/admin/audit-logs',
    '/api/v1/admin/users',
    `/admin/tenants/${p.tenant_id}`,
  ])
    assert.is((await p.send('GET', path, { key: admin })).status, 403, path);
  for (const id of [
    'x',
    MISSING.slice(1),
    `${MISSING}0`,
    MISSING.toUpperCase(),
    `\u0441${MISSING.slice(1)}`,
    `${MISSING}%0a`,
    MISSING.replace('c', 'd'),
  ])
    assert.is((await p.send('GET', `${p.tenant}/agents/${encodeURI(id)}`, { key: admin })).status, 404, id);
});

test("a tenant's API key works only in that tenant, even if the owner of the key is also a member of other tenants", async () => {
  const inOtherTenant = await addMember(p, 'OWNER', otherTenant.id);
  for (const path of ['', '/agents', `/agents/${foreign.agent_id}`]) {
    assert.is((await p.send('GET', otherTenant.tenant + path, { key: inOtherTenant.key })).status, 200, path);
    assert.is((await p.send('GET', otherTenant.tenant + path, { key: admin })).status, 404, path);
    assert.is(
      (await p.send('GET', p.tenant + path.replace(foreign.agent_id, ours.agent_id), { key: inOtherTenant.key })).status,
      404,
      path,
    );
  }
});

afterLastTest(() => p.close());

test.run();
