import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const PASSWORD = 'canary-of-a-database';
const access = { database: 'orders', host: 'db.example.com', username: 'reporting', password: PASSWORD };
const store = (fields: Json = {}, key = p.key) =>
  p.send('POST', `${p.tenant}/database-credentials`, { key, body: { ...access, ...fields } });
const list = async (key = p.key): Promise<Json[]> => {
  await p.waitForProjections();
  return (await p.send('GET', `${p.tenant}/linked-identities`, { key })).body as Json[];
};
const faultOf = ({ body }: Answer) => ((body as Json).errors as Json[])[0]!;

test('a stored database credential is a linked identity of its host, and no response contains the password', async () => {
  const answer = await store();
  const { id, created_at, updated_at, ...rest } = answer.body as Json;
  assert.is(answer.status, 201, answer.text);
  assert.is(answer.headers.get('location'), `${p.tenant}/linked-identities/${id}`);
  assert.equal(rest, {
    provider: 'db:postgres:db.example.com',
    label: 'reporting@db.example.com:5432/orders',
    agent_id: null,
    connected: true,
    scopes: [],
    expires_at: null,
    error: null,
  });
  assert.is(created_at, updated_at);
  assert.equal(await list(), [{ ...(answer.body as Json), given_to: [], given_count: 0 }]);
  assert.not.ok(answer.text.includes(PASSWORD));
});

test('storing the same database credential again gets 200 and appends no event', async () => {
  const count = p.log.events.length;
  assert.is((await store()).status, 200);
  assert.is(p.log.events.length, count);
});

test('storing another password for the same host, written in upper or lower case, replaces the password of the existing identity', async () => {
  const [before] = await list();
  const answer = await store({ password: 'another', host: 'DB.Example.com', database: 'other' });
  assert.is(answer.status, 200);
  const [after, ...others] = await list();
  assert.equal([after!.id, after!.created_at, others], [before!.id, before!.created_at, []]);
  assert.is(after!.label, 'reporting@db.example.com:5432/other');
  assert.is(p.eventsOf('DatabaseCredentialStored').length, 2);
});

test('storing a database credential gets 422 if a field is beyond its limits or the host is not allowed', async () => {
  for (const [fields, pointer] of [
    [{ database: 'a:b' }, '/database'],
    [{ database: '' }, '/database'],
    [{ database: 'd'.repeat(64) }, '/database'],
    [{ host: 'a:b' }, '/host'],
    [{ host: 'h'.repeat(53) }, '/host'],
    [{ host: 'a b' }, '/host'],
    [{ host: '169.254.169.254' }, '/host'],
    [{ host: 'metadata.google.internal' }, '/host'],
    [{ port: 0 }, '/port'],
    [{ port: 65_536 }, '/port'],
    [{ username: 'u'.repeat(64) }, '/username'],
    [{ password: '' }, '/password'],
    [{ password: '\r\n' }, '/password'],
    [{ password: 'pass\u200bword' }, '/password'],
    [{ password: 'p'.repeat(1025) }, '/password'],
    [{ sslmode: 'maybe' }, '/sslmode'],
    [{ extra: true }, '/extra'],
  ] as const) {
    const answer = await store(fields);
    assert.equal([answer.status, faultOf(answer)?.pointer], [422, pointer], JSON.stringify(fields));
  }
  const largest = { database: 'd'.repeat(63), host: 'h'.repeat(52), username: 'u'.repeat(63), password: 'p'.repeat(1024), port: 65_535 };
  assert.is((await store(largest)).status, 201);
});

test('a request to store and test a database credential is refused, and nothing is stored, if its host is this machine or in a private network', async () => {
  const count = p.log.events.length;
  for (const host of ['127.0.0.1', 'localhost', '10.0.0.1', '192.168.1.1', '0.0.0.0']) {
    const answer = await store({ host, test_connection: true });
    assert.equal([answer.status, faultOf(answer).pointer, faultOf(answer).code], [422, '/host', 'connection_failed'], host);
  }
  assert.is(p.log.events.length, count);
});

test('an identity that was unlinked is not listed, unlinking it again gets 404, and a credential for the same host can be stored again', async () => {
  const { id } = (await store({ host: 'gone.example.com' })).body as Json;
  const remove = () => p.send('DELETE', `${p.tenant}/linked-identities/${id}`);
  assert.is((await remove()).status, 204);
  assert.not.ok((await list()).some((one) => one.id === id));
  assert.is((await remove()).status, 404);
  assert.is((await store({ host: 'gone.example.com' })).status, 201);
  assert.ok((await list()).some((one) => one.id === id));
});

test('only an OWNER or ADMIN can store and unlink database credentials; every member can list the credentials of the tenant', async () => {
  const { key } = await addMember(p, 'MEMBER');
  const admin = await addMember(p, 'ADMIN');
  assert.is((await store({ host: 'x.example.com' }, key)).status, 403);
  assert.is((await store({ host: 'x.example.com' }, admin.key)).status, 201);
  const [one] = await list(key);
  assert.ok(one);
  assert.is((await p.send('DELETE', `${p.tenant}/linked-identities/${one.id}`, { key })).status, 403);
});

test('neither an event nor the audit log contains the password of a database credential', async () => {
  const events = JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  await p.waitForProjections();
  const audit = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).text;
  for (const text of [events, audit]) assert.not.ok(text.includes(PASSWORD));
  assert.not.match(audit, /sealed_/);
  assert.match(audit, /stored the database credential “reporting@db.example.com:5432\/orders”/);
});

test.run();
