import pg from 'pg';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<Json> => {
  const answer = await p.send('POST', path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body as Json;
};
const PASSWORD = 'p@ss:w/o?r#d % ü';
const access = { database: 'or/ders', username: 're:porter', password: PASSWORD };
const newDatabase = async (host: string): Promise<Json> => created(`${p.tenant}/database-credentials`, { host, ...access });
let agentCount = 0;
const newAgent = async () => {
  const id = (await created(`${p.tenant}/agents`, { name: 'Agent', slug: `a${++agentCount}` })).id as string;
  const path = `${p.tenant}/agents/${id}`;
  const runner = (await created(`${path}/runner-keys`, { name: 'runner' })).key as string;
  return { id, path, runner };
};
type TestAgent = Awaited<ReturnType<typeof newAgent>>;
const give = ({ path }: TestAgent, identity: unknown, key = p.key) => p.send('PUT', `${path}/credentials/${identity}`, { key });
const take = ({ path }: TestAgent, identity: unknown, key = p.key) => p.send('DELETE', `${path}/credentials/${identity}`, { key });
const listed = async ({ path }: TestAgent, query = ''): Promise<Json[]> =>
  (await p.send('GET', `${path}/credentials${query}`)).body as Json[];
const idsIn = (credentials: readonly Json[]) => credentials.map(({ identity_id }) => identity_id);
const runtimeOf = async ({ path, runner }: TestAgent): Promise<Json[]> => {
  const { status, body, text } = await p.send('GET', `${path}/runtime`, { key: runner });
  assert.is(status, 200, text);
  return (body as { credentials: Json[] }).credentials;
};
const unlink = async (identity: unknown): Promise<void> =>
  assert.is((await p.send('DELETE', `${p.tenant}/linked-identities/${identity}`)).status, 204);

test('a database that was given to an agent is in its list without the password, and in its runtime with a URL', async () => {
  const agent = await newAgent();
  const { id: identity_id } = await newDatabase('db.example.com');
  const answer = await give(agent, identity_id);
  assert.is(answer.status, 200, answer.text);
  const { given_at, given_by, ...rest } = answer.body as Json;
  const label = 're:porter@db.example.com:5432/or/ders';
  const named = { identity_id, provider: 'db:postgres:db.example.com', label };
  assert.equal(rest, { ...named, host: 'db.example.com', database: 'or/ders', connected: true });
  const me = (await p.send('GET', '/me')).body as { user: Json };
  assert.equal([given_by, Number.isNaN(Date.parse(given_at as string))], [me.user.id, false]);
  assert.equal(await listed(agent), [answer.body]);
  const [credential] = await runtimeOf(agent);
  const url = 'postgresql://re%3Aporter:p%40ss%3Aw%2Fo%3Fr%23d%20%25%20%C3%BC@db.example.com:5432/or/ders?sslmode=require';
  assert.equal(credential, {
    ...{ ...named, owner: 'tenant', secret: PASSWORD, scopes: [], expires_at: null },
    ...{ host: 'db.example.com', port: 5432, database: 'or/ders', user: 're:porter', sslmode: 'require', url },
  });
  const parsed = new URL(url);
  assert.equal([parsed.username, parsed.password, parsed.pathname].map(decodeURIComponent), ['re:porter', PASSWORD, '/or/ders']);
  assert.equal((p.eventsOf('RuntimeDisclosed').at(-1)!.data as Json).credentials, [named]);
});

test('a Postgres client connects with the URL of a runtime, whatever user, password and database are called', async () => {
  const [username, password, database] = ["o'Re:porter @1/ü", `p@ss:w/o?r#d %41 "'ü`, 'or/d ers&=+,;@ü'];
  const { hostname: host, port } = new URL(p.readModelPool.options.connectionString!);
  const run = (sql: string) => p.readModelPool.query(sql);
  const [role, name] = [pg.escapeIdentifier(username), pg.escapeIdentifier(database)];
  await run(`create role ${role} login password ${pg.escapeLiteral(password)}`);
  await run(`create database ${name}`);
  const agent = await newAgent();
  const access = { host, port: Number(port), database, username, password, sslmode: 'disable' };
  const { id } = await created(`${p.tenant}/database-credentials`, access);
  await give(agent, id);
  const client = new pg.Client({ connectionString: (await runtimeOf(agent))[0]!.url as string });
  try {
    assert.equal([client.user, client.password, client.database, client.host], [username, password, database, host]);
    await client.connect();
    const { rows } = await client.query('select current_user as user, current_database() as database');
    assert.equal(rows, [{ user: username, database }]);
  } finally {
    await client.end();
    await run(`drop database ${name}`);
    await run(`drop role ${role}`);
  }
});

test('giving or taking a credential a second time changes nothing; the audit log has one sentence for each change', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('twice.example.com');
  for (const status of [200, 200]) assert.is((await give(agent, id)).status, status);
  for (const status of [204, 204]) assert.is((await take(agent, id)).status, status);
  assert.equal([await listed(agent), await runtimeOf(agent)], [[], []]);
  await p.waitForProjections();
  const entries = (await p.send('GET', `${p.tenant}/audit-logs?resource_id=${agent.id}`)).body as Json[];
  const sentences = entries.map(({ summary }) => String(summary)).filter((summary) => summary.includes('credential'));
  assert.is(sentences.length, 2, sentences.join('\n'));
  assert.match(sentences[0]!, /took the credential re:porter@twice\.example\.com:5432\/or\/ders from the agent “Agent”/);
  assert.match(sentences[1]!, /gave the credential re:porter@twice\.example\.com:5432\/or\/ders to the agent “Agent”/);
});

test('only linked identities of the tenant itself can be given to an agent', async () => {
  const agent = await newAgent();
  const gone = (await newDatabase('gone.example.com')).id;
  await unlink(gone);
  const neighbour = await createSecondTenant(p);
  const foreign = await p.send('POST', `${neighbour.tenant}/database-credentials`, {
    key: neighbour.key,
    body: { host: 'foreign.example.com', ...access },
  });
  assert.is(foreign.status, 201, foreign.text);
  for (const [name, identity] of [
    ['an unlinked one', gone],
    ['one of another tenant', (foreign.body as Json).id],
    ['an unknown one', 'cunknown00000000000000000'],
    ['an agent', agent.id],
  ] as const) {
    assert.is((await give(agent, identity)).status, 404, `give ${name}`);
    assert.is((await take(agent, identity)).status, 404, `take ${name}`);
  }
  assert.equal(
    p.eventsOf('AgentCredentialGiven').filter(({ id }) => id === agent.id),
    [],
  );
});

test('a new password reaches the agents that have the credential', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('rotated.example.com');
  await give(agent, id);
  await created(`${p.tenant}/database-credentials`, { host: 'ROTATED.example.com', ...access, password: 'new' });
  const [credential] = await runtimeOf(agent);
  assert.is(credential!.secret, 'new');
});

for (const [what, changed] of Object.entries({
  user: { username: 'postgres' },
  database: { database: 'payroll' },
  port: { port: 5433 },
}))
  test(`another ${what} on the same host is not what was given: the agent loses the credential until it is given again`, async () => {
    const agent = await newAgent();
    const host = `${what}.example.com`;
    const { id } = await newDatabase(host);
    await give(agent, id);
    const stored = await created(`${p.tenant}/database-credentials`, { host, ...access, ...changed });
    assert.is(stored.id, id, 'the same host has the same identity');
    assert.equal([await listed(agent), await runtimeOf(agent)], [[], []]);
    await give(agent, id);
    assert.equal(idsIn(await runtimeOf(agent)), [id]);
  });

test('unlinking an identity takes it from all agents at once, and linking it again does not give it back', async () => {
  const agents = [await newAgent(), await newAgent()];
  const { id } = await newDatabase('shared.example.com');
  for (const agent of agents) await give(agent, id);
  await unlink(id);
  const nobodyHasIt = async (): Promise<void> => {
    for (const agent of agents) assert.equal([await listed(agent), await runtimeOf(agent)], [[], []]);
  };
  await nobodyHasIt();
  assert.is((await newDatabase('shared.example.com')).id, id, 'the same host has the same identity');
  await nobodyHasIt();
  await give(agents[0]!, id);
  assert.equal([idsIn(await runtimeOf(agents[0]!)), idsIn(await runtimeOf(agents[1]!))], [[id], []]);
});

/** Returns the ids of the agents to which an identity was given, as its entry in the list shows them. */
const givenTo = async (identity: unknown, key = p.key): Promise<unknown[]> => {
  const found = (await p.send('GET', `${p.tenant}/linked-identities?limit=200`, { key })).body as { id: string; given_to: Json[] }[];
  return found.find(({ id }) => id === identity)!.given_to.map(({ agent_id }) => agent_id);
};

test('an identity in the list names the agents that have it now, of those that the caller may see', async () => {
  const [one, two] = [await newAgent(), await newAgent()];
  const { id } = await newDatabase('named.example.com');
  assert.equal(await givenTo(id), []);
  for (const agent of [one, two]) await give(agent, id);
  assert.equal((await givenTo(id)).toSorted(), [one.id, two.id].toSorted());
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'sees-one@example.com');
  assert.equal(await givenTo(id, viewer.key), []);
  await p.send('PUT', `${one.path}/roles/${viewer.user_id}`, { body: { role: 'VIEWER' } });
  assert.equal(await givenTo(id, viewer.key), [one.id]);
  await take(one, id);
  assert.equal([await givenTo(id), await givenTo(id, viewer.key)], [[two.id], []]);
  await unlink(id);
  await newDatabase('named.example.com');
  assert.equal(await givenTo(id), [], 'linked again, it is another identity');
  await give(two, id);
  await p.send('DELETE', two.path);
  assert.equal(await givenTo(id), []);
});

test('the list names the first 20 agents with an identity, and counts all; deleted and restored ones have none', async () => {
  const agents: TestAgent[] = [];
  for (let n = 0; n < 22; n++) agents.push(await newAgent());
  const { id } = await newDatabase('many.example.com');
  for (const agent of agents) await give(agent, id);
  const entry = async () => {
    const found = (await p.send('GET', `${p.tenant}/linked-identities?limit=200`)).body as Json[];
    const { given_to, given_count } = found.find((one) => one.id === id)! as { given_to: Json[]; given_count: number };
    return { ids: given_to.map(({ agent_id }) => agent_id), given_to, given_count };
  };
  const ids = agents.map((agent) => agent.id);
  const { given_to, ...all } = await entry();
  assert.equal(all, { ids: ids.slice(0, 20), given_count: 22 });
  assert.equal([given_to[0]!.name, Number.isNaN(Date.parse(given_to[0]!.given_at as string))], ['Agent', false]);
  const [first, ...others] = agents;
  await p.send('DELETE', first!.path);
  assert.equal([(await entry()).ids, (await entry()).given_count], [ids.slice(1, 21), 21]);
  assert.is((await p.send('POST', `${first!.path}/restore`)).status, 200);
  assert.equal([(await entry()).ids, (await entry()).given_count], [ids.slice(1, 21), 21]);
  await give(first!, id);
  for (const agent of others.slice(2)) await take(agent, id);
  assert.equal((await entry()).ids, [ids[1], ids[2], ids[0]]);
});

test('an inactive agent gets no credentials of the tenant until it is active again', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('inactive.example.com');
  await give(agent, id);
  await p.send('PATCH', agent.path, { body: { is_active: false } });
  assert.equal(await runtimeOf(agent), []);
  await p.send('PATCH', agent.path, { body: { is_active: true } });
  assert.equal(idsIn(await runtimeOf(agent)), [id]);
});

test('a copy, a deleted and restored agent, and an earlier revision carry no credentials', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('kept.example.com');
  await give(agent, id);
  const copy = (await p.send('POST', `/agents/${agent.id}/clone`, { body: { name: 'Copy' } })).body as Json;
  assert.equal((await p.send('GET', `${p.tenant}/agents/${copy.id}/credentials`)).body, []);
  const revision = Number(/\d+/.exec((await p.send('GET', agent.path)).headers.get('etag')!)![0]);
  await take(agent, id);
  assert.is((await p.send('POST', `${agent.path}/restore`, { body: { revision } })).status, 200);
  assert.equal(await listed(agent), []);
  await give(agent, id);
  assert.is((await p.send('DELETE', agent.path)).status, 204);
  assert.is((await p.send('GET', `${agent.path}/runtime`, { key: agent.runner })).status, 404);
  assert.is((await p.send('POST', `${agent.path}/restore`, { body: {} })).status, 200);
  assert.equal([await listed(agent), await runtimeOf(agent)], [[], []]);
});

test('giving and taking need both permissions; reading the credentials of an agent needs that of reading the agent', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('guarded.example.com');
  const members = { owner: await addMember(p, 'MEMBER'), viewer: await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com') };
  await p.send('PUT', `${agent.path}/roles/${members.owner.user_id}`, { body: { role: 'OWNER' } });
  await p.send('PUT', `${agent.path}/roles/${members.viewer.user_id}`, { body: { role: 'VIEWER' } });
  const nobody = await addMember(p, 'MEMBER', p.tenant_id, 'nobody@example.com');
  const admin = await addMember(p, 'ADMIN', p.tenant_id, 'admin@example.com');
  const other = await newAgent();
  for (const [name, key, mayRead, change] of [
    ['an owner of the agent', members.owner.key, 200, 403],
    ['a viewer of the agent', members.viewer.key, 200, 403],
    ['a member without a role on the agent', nobody.key, 404, 404],
    ['its runner', agent.runner, 403, 403],
    ['the runner of another agent', other.runner, 403, 403],
    ['an admin', admin.key, 200, 200],
  ] as const) {
    assert.is((await p.send('GET', `${agent.path}/credentials`, { key })).status, mayRead, `${name} reads`);
    assert.is((await give(agent, id, key)).status, change, `${name} gives`);
    assert.is((await take(agent, id, key)).status, change === 200 ? 204 : change, `${name} takes`);
  }
});

test('an as-of list has the credentials that the agent had at that time', async () => {
  const agent = await newAgent();
  const [one, two] = [await newDatabase('one.example.com'), await newDatabase('two.example.com')];
  await give(agent, one.id);
  const token = (await give(agent, two.id)).headers.get('consistency-token')!;
  await take(agent, one.id);
  assert.equal(idsIn(await listed(agent)), [two.id]);
  assert.equal(idsIn(await listed(agent, `?as_of=${token}`)), [two.id, one.id]);
});

test('a conditional read of a runtime does not get 304 after a credential is given to the agent or taken from it', async () => {
  const agent = await newAgent();
  const { id } = await newDatabase('etag.example.com');
  const read = (etag: string) => p.send('GET', `${agent.path}/runtime`, { key: agent.runner, headers: { 'if-none-match': etag } });
  const without = (await read('')).headers.get('etag')!;
  await give(agent, id);
  const changed = await read(without);
  assert.equal([changed.status, (await read(changed.headers.get('etag')!)).status], [200, 304]);
  await take(agent, id);
  assert.is((await read(changed.headers.get('etag')!)).status, 200);
});

afterLastTest(() => p.close());

test.run();
