import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type CreatedKey = { id: string; key: string };

const p = await createTestPlatform();
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as CreatedKey).id;
const A = `${p.tenant}/agents/${agent}`;
const KEY_PATHS = [`${p.tenant}/api-keys`, '/admin/api-keys', `${A}/runner-keys`];
const postKey = (path: string, body: object = { name: 'CI' }, key = p.key) => p.send('POST', path, { body, key });
const createKey = async (path = KEY_PATHS[0]!, body?: object) => (await postKey(path, body)).body as CreatedKey;
const codeOf = ({ body }: Answer) => (body as Json).code;
const me = (key: string) => p.send('GET', '/me', { key });
const assertUnauthorized = (answer: Answer, code = 'unauthorized') => {
  assert.equal([answer.status, codeOf(answer)], [401, code], answer.text);
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
};

test('an API key is shown only in the response to its creation; no list, audit log or event contains it', async () => {
  for (const path of KEY_PATHS) {
    const answer = await postKey(path);
    const { key, id } = answer.body as CreatedKey;
    assert.equal([answer.status, answer.headers.get('location')], [201, `${path}/${id}`]);
    assert.equal(Object.keys(answer.body as Json).sort(), [
      'created_at',
      'expires_at',
      'id',
      'key',
      'last_used_at',
      'name',
      'owner_id',
      'read_only',
      'role',
    ]);
    assert.match(key, /^ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/);
    await p.waitForProjections();
    const listed = await p.send('GET', path);
    const [item] = listed.body as Json[];
    assert.equal(Object.keys(item!).sort(), ['created_at', 'expires_at', 'id', 'last_used_at', 'name', 'owner_id', 'read_only', 'role']);
    const audits = [
      (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).text,
      (await p.send('GET', '/admin/audit-logs?limit=200')).text,
    ];
    const everything = [
      listed.text,
      ...audits,
      JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ];
    for (const text of everything) assert.not.ok(text.includes(key.slice(13, 45)));
    for (const text of audits) assert.not.match(text, /digest/);
  }
});

test("a tenant key authenticates the user who created it, only in the key's tenant; a runner key authenticates its agent", async () => {
  const { key } = await createKey();
  const { user, tenants, actor } = (await me(key)).body as { user: Json; tenants: Json[]; actor: Json };
  assert.equal([user.email, tenants.length, actor.kind], ['admin@annals.localhost', 1, 'user']);
  assert.is(
    (await p.send('GET', '/admin/tenants', { key })).status,
    403,
    'a tenant key has no platform permission, even if its creator is a super-admin',
  );
  const runner = (await me((await createKey(`${A}/runner-keys`)).key)).body as Json;
  assert.equal([(runner.agent as Json).id, (runner.actor as Json).kind, runner.user], [agent, 'agent', null]);
});

test('an API key of any kind that is revoked is refused at once, and no longer listed', async () => {
  for (const path of KEY_PATHS) {
    const { id, key } = await createKey(path);
    assert.is((await me(key)).status, 200);
    assert.is((await p.send('DELETE', `${path}/${id}`)).status, 204);
    assertUnauthorized(await me(key));
    await p.waitForProjections();
    assert.not.ok((await p.send('GET', path)).text.includes(id));
    for (const other of KEY_PATHS.filter((other) => other !== path)) assert.is((await p.send('DELETE', `${other}/${id}`)).status, 404);
  }
});

test('only an OWNER may revoke an API key of another OWNER', async () => {
  const path = KEY_PATHS[0]!;
  const [owner, other] = [
    await addMember(p, 'OWNER', p.tenant_id, 'one@example.com'),
    await addMember(p, 'OWNER', p.tenant_id, 'other@example.com'),
  ];
  const [admin, second] = [
    await addMember(p, 'ADMIN', p.tenant_id, 'first@example.com'),
    await addMember(p, 'ADMIN', p.tenant_id, 'second@example.com'),
  ];
  const revoke = async (key_id: string, key: string) => (await p.send('DELETE', `${path}/${key_id}`, { key })).status;
  assert.is(await revoke(owner.key_id, admin.key), 403);
  assert.is((await me(owner.key)).status, 200, 'the key is still valid');
  assert.is(await revoke(second.key_id, admin.key), 204);
  assert.is(await revoke(other.key_id, owner.key), 204);
  assert.is(await revoke(owner.key_id, owner.key), 204);
});

test('an API key expires at expires_at, which must be in the future and before the year 10000', async () => {
  const soon = new Date(Date.now() + 60_000).toISOString();
  const { key, expires_at } = (await createKey(undefined, { name: 'x', expires_at: soon.replace('Z', '+00:00') })) as CreatedKey & Json;
  assert.is(expires_at, soon);
  assert.is((await me(key)).status, 200);
  p.clock.now = () => Date.now() + 61_000;
  assertUnauthorized(await me(key), 'key_expired');
  p.clock.now = Date.now;
  for (const wrong of [
    new Date(Date.now() - 1).toISOString(),
    '2020-01-01T00:00:00Z',
    'tomorrow',
    '2099-02-30T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
    1,
  ])
    assert.is((await postKey(KEY_PATHS[0]!, { name: 'x', expires_at: wrong })).status, 422, String(wrong));
  assert.is(((await createKey(undefined, { name: 'x', expires_at: null })) as CreatedKey & Json).expires_at, null);
  const lowerCase = (await createKey(undefined, { name: 'x', expires_at: '2999-01-02t03:04:05z' })) as CreatedKey & Json;
  assert.is(lowerCase.expires_at, '2999-01-02T03:04:05.000Z', 'RFC 3339 5.6 allows t and z in lower case');
});

test('a malformed API key is refused without reading the log; for an unknown key with a correct checksum, the log is read once', async () => {
  let reads = 0;
  const { read } = p.log;
  Object.assign(p.log, {
    read: (...call: Parameters<typeof read>) => {
      reads++;
      return read(...call);
    },
  });
  const { key } = await createKey();
  const before = reads;
  const typos = Array.from(
    { length: key.length },
    (_, index) => key.slice(0, index) + (key[index] === 'x' ? 'y' : 'x') + key.slice(index + 1),
  );
  for (const wrong of [...typos, '', ' ', 'ann_', key.slice(0, -1), `${key}0`, 'a'.repeat(10_000)]) assertUnauthorized(await me(wrong));
  for (const authorization of [key, `Basic ${key}`, `Bearer ${key} ${key}`, `Bearer, ${key}`, 'Bearer'])
    assertUnauthorized(await p.send('GET', '/me', { key: '', headers: { authorization } }));
  assert.is(reads, before);
  assertUnauthorized(await me(buildKey('UNKNOWN0', 'x'.repeat(32))));
  assert.is(reads, before + 1);
  assertUnauthorized(await me(buildKey(key.slice(4, 12), 'x'.repeat(32))), 'unauthorized');
  Object.assign(p.log, { read });
});

test('without a credential, every operation that is not public gets 401', async () => {
  for (const { method, path, permit } of Object.values(p.operations)) {
    if (permit === 'none') continue;
    assertUnauthorized(await p.send(method.toUpperCase(), path.replace(':tenant_id', p.tenant_id).replaceAll(/:\w+/g, agent), { key: '' }));
  }
});

test('a runner key allows only the operations that a runner needs', async () => {
  const { key } = await createKey(`${A}/runner-keys`);
  const other = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Other', slug: 'other' } })).body as CreatedKey).id;
  await p.waitForProjections();
  const open = new Set<string>();
  const sessionOf = async (id: string) => ((await p.send('POST', `${p.tenant}/agents/${id}/sessions`, { body: {} })).body as CreatedKey).id;
  const sessions: Record<string, string> = { [agent]: await sessionOf(agent), [other]: await sessionOf(other) };
  for (const [name, { method, path }] of Object.entries(p.operations)) {
    // Skip the marketplace and the benchmarks: they are the same for all tenants, and any credential may read them.
    if (method === 'get' && /^\/(?:marketplace|benchmarks)/.test(path)) continue;
    const ask = (id: string) =>
      p.send(method.toUpperCase(), path.replace(':tenant_id', p.tenant_id).replace(':session_id', sessions[id]!).replaceAll(/:\w+/g, id), {
        key,
        ...(method === 'get' || method === 'delete' ? {} : { body: {} }),
      });
    const [own, foreign] = [await ask(agent), await ask(other)];
    // Another agent's session or reservation gets the same response as a missing one.
    const isByResource =
      ['getApproval', 'getSession', 'getSessionDraft', 'reportAttempt', 'setSessionDraft'].includes(name) ||
      (method === 'post' && /:(session|reservation)_id/.test(path));
    const refused = isByResource ? 404 : 403;
    if (path !== '/me') assert.is(foreign.status, refused, `${name} of another agent: ${foreign.status}`);
    // An approval that does not exist gets 404 before the runner is refused. See approval.api.test.ts.
    if (own.status !== 403 && name !== 'decideApproval') open.add(name);
  }
  assert.equal([...open].sort(), [
    'appendMessage',
    'authorSkill',
    'cancelSession',
    'completeSession',
    'continueSession',
    'failSession',
    'forgetMemoryEntry',
    'getAgent',
    'getAgentRuntime',
    'getApproval',
    'getMemoryEntry',
    'getSession',
    'getSessionDraft',
    'issueRunnerCredential',
    'listMemory',
    'listRunnerCredentials',
    'listSessions',
    'listSettledMessages',
    'readBudgetUsage',
    'readMe',
    'remember',
    'reportAttempt',
    'requestCredential',
    'reserveBudget',
    'sendMail',
    'setSessionDraft',
    'settleBudget',
    'startSession',
  ]);
});

test('an API key is refused if its owner is no longer a member, or if its tenant is suspended', async () => {
  const { key, user_id } = await addMember(p, 'ADMIN');
  const runner = (await postKey(`${A}/runner-keys`, { name: 'r' }, key)).body as CreatedKey;
  const ctx = p.systemContext(p.tenant_id);
  await ctx.transact(Tenant, p.tenant_id, Tenant.suspend('unpaid'));
  for (const one of [key, runner.key]) assert.equal(codeOf(await p.send('GET', A, { key: one })), 'tenant_suspended');
  await ctx.transact(Tenant, p.tenant_id, Tenant.resume('paid'));
  assert.is((await p.send('GET', A, { key })).status, 200);
  await ctx.transact(Tenant, p.tenant_id, Member.remove(user_id, 'OWNER'));
  for (const one of [key, runner.key]) assertUnauthorized(await p.send('GET', A, { key: one }), 'key_owner_inactive');
});

test('the use of an API key is recorded at most once an hour', async () => {
  const { id, key } = await createKey();
  const uses = () => p.eventsOf('ApiKeyUsed').filter((event) => event.id === id).length;
  const recorded = async (count: number): Promise<void> => {
    while (uses() < count) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  for (let n = 0; n < 5; n++) await me(key);
  await recorded(1);
  assert.is(uses(), 1);
  p.clock.now = () => Date.now() + 3_700_000;
  await me(key);
  await recorded(2);
  p.clock.now = Date.now;
  assert.is(uses(), 2);
});

test('the name of an API key can have 1 to 255 characters', async () => {
  for (const [length, status] of [
    [0, 422],
    [1, 201],
    [254, 201],
    [255, 201],
    [256, 422],
  ] as const)
    assert.is((await postKey(KEY_PATHS[0]!, { name: '\u{1f511}'.repeat(length) })).status, status, `${length}`);
  assert.equal(p.unappliedEvents(), []);
});

afterLastTest(() => p.close());

test.run();
