import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const KEYS = `${p.tenant}/api-keys`;
const owner = await addMember(p, 'OWNER');
const admin = await addMember(p, 'ADMIN');
const agent = ((await p.send('POST', `${p.tenant}/agents`, { key: owner.key, body: { name: 'Agent', slug: 'agent' } })).body as Json).id;
const A = `${p.tenant}/agents/${agent}`;
const post = (body: Json, key = owner.key, path = KEYS) => p.send('POST', path, { key, body: { name: 'CI', ...body } });
const createKey = async (body: Json, key = owner.key, path = KEYS): Promise<string> => {
  const answer = await post(body, key, path);
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).key as string;
};
const statusOf = async (method: string, path: string, key: string, body?: Json) =>
  (await p.send(method, path, { key, ...(body ? { body } : {}) })).status;
const scopeOf = ({ body }: Answer) => [(body as Json).read_only, (body as Json).role];

test('the response that creates an API key, and the list of keys, show whether the key is read-only and its maximum role', async () => {
  assert.equal(scopeOf(await post({})), [false, null]);
  assert.equal(scopeOf(await post({ read_only: true, role: 'AUDITOR' })), [true, 'AUDITOR']);
  await p.waitForProjections();
  const [limited, full] = (await p.send('GET', KEYS, { key: owner.key })).body as Json[];
  assert.equal([limited!.read_only, limited!.role, full!.read_only, full!.role], [true, 'AUDITOR', false, null]);
});

test('with a read-only API key of any kind, the caller can read what the owner of the key can read, and can change nothing', async () => {
  const [tenantKey, platformKey, runnerKey] = await Promise.all([
    createKey({ read_only: true }),
    createKey({ read_only: true }, p.key, '/admin/api-keys'),
    createKey({ read_only: true }, owner.key, `${A}/runner-keys`),
  ]);
  for (const path of [p.tenant, A, KEYS, `${p.tenant}/audit-logs`]) assert.is(await statusOf('GET', path, tenantKey), 200, path);
  assert.is(await statusOf('HEAD', A, tenantKey), 200);
  for (const [key, read_only] of [
    [tenantKey, true],
    [runnerKey, true],
    [owner.key, false],
  ] as const)
    assert.is(((await p.send('GET', '/me', { key })).body as Json).read_only, read_only);
  assert.is(await statusOf('GET', '/admin/tenants', platformKey), 200);
  assert.is(await statusOf('GET', A, runnerKey), 200);
  const before = p.log.events.filter(({ type }) => type !== 'ApiKeyUsed').length;
  const changes: [string, string, string, Json?][] = [
    ['PATCH', A, tenantKey, { name: 'Other' }],
    ['DELETE', A, tenantKey],
    ['POST', KEYS, tenantKey, { name: 'full' }],
    ['PUT', `${p.tenant}/agent-grants`, tenantKey, { nonsense: 1 }],
    ['POST', '/admin/allowed-accounts', platformKey, { email: 'a@example.com' }],
    ['POST', `/admin/tenants/${p.tenant_id}/break-glass`, platformKey, { reason: 'x', minutes: 5 }],
    ['POST', `${A}/runner-credentials`, runnerKey],
  ];
  for (const [method, path, key, body] of changes) {
    const answer = await p.send(method, path, { key, ...(body ? { body } : {}) });
    assert.is(answer.status, 403, `${method} ${path}: ${answer.text}`);
    assert.match((answer.body as Json).detail as string, /read-only/);
  }
  assert.is(p.log.events.filter(({ type }) => type !== 'ApiKeyUsed').length, before);
});

test('an API key with a role below that of its owner has only the permissions of its own role', async () => {
  const auditor = await createKey({ role: 'AUDITOR' });
  const { tenants } = (await p.send('GET', '/me', { key: auditor })).body as { tenants: Json[] };
  assert.equal([tenants[0]!.role, tenants[0]!.permissions], ['AUDITOR', ['tenant:read', 'tenant:audit:read']]);
  assert.is(await statusOf('GET', `${p.tenant}/audit-logs`, auditor), 200);
  assert.is(await statusOf('POST', `${p.tenant}/close`, auditor, { reason: 'x' }), 403);
  const member = await createKey({ role: 'MEMBER' });
  assert.is(await statusOf('PATCH', A, member, { name: 'By its owner' }), 200, 'roles on agents still count');
  assert.is(await statusOf('GET', `${p.tenant}/audit-logs`, member), 403);
  const asAdmin = await createKey({ role: 'ADMIN' });
  assert.is(await statusOf('PATCH', `${p.tenant}/members/${admin.user_id}`, asAdmin, { role: 'OWNER' }), 403);
  assert.is(await statusOf('DELETE', `${KEYS}/${owner.key_id}`, asAdmin), 403);
});

test('an API key with the role AUDITOR can only read agents, even those that its owner owns', async () => {
  const auditor = await createKey({ role: 'AUDITOR' });
  const effective = async (key: string) => {
    const { permissions } = (await p.send('GET', `${A}/effective-permissions`, { key })).body as { permissions: Json[] };
    return permissions.flatMap(({ id, allowed }) => (allowed ? [id] : []));
  };
  assert.is(await statusOf('GET', A, auditor), 200);
  assert.is(await statusOf('PATCH', A, auditor, { name: 'By an auditor' }), 403);
  assert.is(await statusOf('POST', `${A}/runner-keys`, auditor, { name: 'r' }), 403);
  assert.is(await statusOf('DELETE', A, auditor), 403);
  assert.equal(await effective(auditor), ['agent:read']);
  assert.is((await effective(owner.key)).length, 9);
});

test('an API key cannot get a role above that of its creator; a key that is created with a limited key has the same limit', async () => {
  assert.is((await post({ role: 'OWNER' }, admin.key)).status, 403);
  assert.is((await post({ role: 'ADMIN' }, admin.key)).status, 201);
  const limited = await createKey({ role: 'ADMIN' });
  assert.is((await post({ role: 'OWNER' }, limited)).status, 403);
  const made = await post({}, limited);
  assert.equal(scopeOf(made), [false, 'ADMIN']);
  assert.is(await statusOf('POST', `${p.tenant}/close`, (made.body as Json).key as string, { reason: 'x' }), 403);
});

test('creating a platform key or a runner key with a role is refused', async () => {
  for (const [path, key] of [
    ['/admin/api-keys', p.key],
    [`${A}/runner-keys`, owner.key],
  ] as const) {
    const { status, body } = await post({ role: 'MEMBER' }, key, path);
    assert.equal([status, (body as { errors: Json[] }).errors[0]!.pointer], [422, '/role'], path);
  }
});

test('after its owner is demoted, an API key has the lower role; if neither role includes the other, it is refused', async () => {
  const { user_id, key } = await addMember(p, 'ADMIN', p.tenant_id, 'demoted@example.com');
  const [asAdmin, asAuditor] = [await createKey({ role: 'ADMIN' }, key), await createKey({ role: 'AUDITOR' }, key)];
  await p.systemContext(p.tenant_id).transact(Tenant, p.tenant_id, Member.changeRole(user_id, 'MEMBER', 'OWNER'));
  assert.equal([await statusOf('GET', p.tenant, asAdmin), await statusOf('GET', KEYS, asAdmin)], [200, 403]);
  const refused = await p.send('GET', p.tenant, { key: asAuditor });
  assert.equal([refused.status, (refused.body as Json).code], [401, 'key_owner_inactive']);
});

afterLastTest(() => p.close());

test.run();
