import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type Answer, createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Made = { id: string; key: string };

const p = await createInMemoryPlatform();
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as Made).id;
const A = `${p.tenant}/agents/${agent}`;
const PLACES = [`${p.tenant}/api-keys`, '/admin/api-keys', `${A}/runner-keys`];
const make = (path: string, body: object = { name: 'CI' }, key = p.key) => p.send('POST', path, { body, key });
const made = async (path = PLACES[0]!, body?: object) => (await make(path, body)).body as Made;
const codeOf = ({ body }: Answer) => (body as Json).code;
const me = (key: string) => p.send('GET', '/me', { key });
const unauthorized = (answer: Answer, code = 'unauthorized') => {
  assert.equal([answer.status, codeOf(answer)], [401, code], answer.text);
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
};

test('a key is shown once, at its creation, and to no list, log or event', async () => {
  for (const path of PLACES) {
    const answer = await make(path);
    const { key, id } = answer.body as Made;
    assert.equal([answer.status, answer.headers.get('location')], [201, `${path}/${id}`]);
    assert.equal(Object.keys(answer.body as Json).sort(), ['created_at', 'expires_at', 'id', 'key', 'last_used_at', 'name']);
    assert.match(key, /^ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/);
    await p.waitForProjections();
    const listed = await p.send('GET', path);
    const [item] = listed.body as Json[];
    assert.equal(Object.keys(item!).sort(), ['created_at', 'expires_at', 'id', 'last_used_at', 'name']);
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

test('a key acts as its creator, in its tenant, and a runner key as its agent', async () => {
  const { key } = await made();
  const { user, tenants, actor } = (await me(key)).body as { user: Json; tenants: Json[]; actor: Json };
  assert.equal([user.email, tenants.length, actor.kind], ['admin@annals.localhost', 1, 'user']);
  assert.is((await p.send('GET', '/admin/tenants', { key })).status, 403, 'not on the platform, though its creator is a super-admin');
  const runner = (await me((await made(`${A}/runner-keys`)).key)).body as Json;
  assert.equal([(runner.agent as Json).id, (runner.actor as Json).kind, runner.user], [agent, 'agent', null]);
});

test('a revoked key is dead at once, wherever it was made, and is listed no more', async () => {
  for (const path of PLACES) {
    const { id, key } = await made(path);
    assert.is((await me(key)).status, 200);
    assert.is((await p.send('DELETE', `${path}/${id}`)).status, 204);
    unauthorized(await me(key));
    await p.waitForProjections();
    assert.not.ok((await p.send('GET', path)).text.includes(id));
    for (const other of PLACES.filter((one) => one !== path)) assert.is((await p.send('DELETE', `${other}/${id}`)).status, 404);
  }
});

test('a key expires at its time, and none is born expired or beyond what can be written', async () => {
  const soon = new Date(Date.now() + 60_000).toISOString();
  const { key, expires_at } = (await made(undefined, { name: 'x', expires_at: soon.replace('Z', '+00:00') })) as Made & Json;
  assert.is(expires_at, soon);
  assert.is((await me(key)).status, 200);
  p.clock.now = () => Date.now() + 61_000;
  unauthorized(await me(key), 'key_expired');
  p.clock.now = Date.now;
  for (const wrong of [
    new Date(Date.now() - 1).toISOString(),
    '2020-01-01T00:00:00Z',
    'tomorrow',
    '2099-02-30T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
    1,
  ])
    assert.is((await make(PLACES[0]!, { name: 'x', expires_at: wrong })).status, 422, String(wrong));
  assert.is(((await made(undefined, { name: 'x', expires_at: null })) as Made & Json).expires_at, null);
  const small = (await made(undefined, { name: 'x', expires_at: '2999-01-02t03:04:05z' })) as Made & Json;
  assert.is(small.expires_at, '2999-01-02T03:04:05.000Z', 'RFC 3339 5.6: t and z may be small');
});

test('what is no key costs no look-up; an unknown one with a right checksum costs one', async () => {
  let reads = 0;
  const { read } = p.log;
  Object.assign(p.log, {
    read: (...call: Parameters<typeof read>) => {
      reads++;
      return read(...call);
    },
  });
  const { key } = await made();
  const before = reads;
  const typos = Array.from(
    { length: key.length },
    (_, place) => key.slice(0, place) + (key[place] === 'x' ? 'y' : 'x') + key.slice(place + 1),
  );
  for (const wrong of [...typos, '', ' ', 'ann_', key.slice(0, -1), `${key}0`, 'a'.repeat(10_000)]) unauthorized(await me(wrong));
  for (const authorization of [key, `Basic ${key}`, `Bearer ${key} ${key}`, `Bearer, ${key}`, 'Bearer'])
    unauthorized(await p.send('GET', '/me', { key: '', headers: { authorization } }));
  assert.is(reads, before);
  unauthorized(await me(buildKey('UNKNOWN0', 'x'.repeat(32))));
  assert.is(reads, before + 1);
  unauthorized(await me(buildKey(key.slice(4, 12), 'x'.repeat(32))), 'unauthorized');
  Object.assign(p.log, { read });
});

test('without a credential every operation but the open ones is 401', async () => {
  for (const { method, path, permit } of Object.values(p.operations)) {
    if (permit === 'none') continue;
    unauthorized(await p.send(method.toUpperCase(), path.replace(':tenant_id', p.tenant_id).replaceAll(/:\w+/g, agent), { key: '' }));
  }
});

test('a runner key may read its agent and ask for its credentials, and nothing else', async () => {
  const { key } = await made(`${A}/runner-keys`);
  const other = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Other', slug: 'other' } })).body as Made).id;
  await p.waitForProjections();
  const open = new Set<string>();
  for (const [name, { method, path }] of Object.entries(p.operations)) {
    const ask = (id: string) =>
      p.send(method.toUpperCase(), path.replace(':tenant_id', p.tenant_id).replaceAll(/:\w+/g, id), {
        key,
        ...(method === 'get' || method === 'delete' ? {} : { body: {} }),
      });
    const [own, foreign] = [await ask(agent), await ask(other)];
    if (path !== '/me') assert.is(foreign.status, 403, `${name} of another agent: ${foreign.status}`);
    if (own.status !== 403) open.add(name);
  }
  assert.equal([...open].sort(), ['getAgent', 'issueRunnerCredential', 'listRunnerCredentials', 'readMe']);
});

test('a key of somebody who is no member any more, or whose tenant is suspended, is refused as such', async () => {
  const { key, user_id } = await addMember(p, 'ADMIN');
  const runner = (await make(`${A}/runner-keys`, { name: 'r' }, key)).body as Made;
  const ctx = p.systemContext(p.tenant_id);
  await ctx.transact(Tenant, p.tenant_id, Tenant.suspend('unpaid'));
  for (const one of [key, runner.key]) assert.equal(codeOf(await p.send('GET', A, { key: one })), 'tenant_suspended');
  await ctx.transact(Tenant, p.tenant_id, Tenant.resume('paid'));
  assert.is((await p.send('GET', A, { key })).status, 200);
  await ctx.transact(Tenant, p.tenant_id, Member.remove(user_id, 'OWNER'));
  for (const one of [key, runner.key]) unauthorized(await p.send('GET', A, { key: one }), 'key_owner_inactive');
});

test('a use is noted, once an hour', async () => {
  const { id, key } = await made();
  const uses = () => p.eventsOf('ApiKeyUsed').filter((event) => event.id === id).length;
  for (let n = 0; n < 5; n++) await me(key);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.is(uses(), 1);
  p.clock.now = () => Date.now() + 3_700_000;
  await me(key);
  await new Promise((resolve) => setTimeout(resolve, 20));
  p.clock.now = Date.now;
  assert.is(uses(), 2);
});

test('names of keys have 1 to 255 characters', async () => {
  for (const [length, status] of [
    [0, 422],
    [1, 201],
    [254, 201],
    [255, 201],
    [256, 422],
  ] as const)
    assert.is((await make(PLACES[0]!, { name: '\u{1f511}'.repeat(length) })).status, status, `${length}`);
  assert.equal(p.unappliedEvents(), []);
});

test('the platform ends', () => p.close());

test.run();
