import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant, type TestPlatform } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const MISSING = `c${'0'.repeat(24)}`;
const HOURS = { working_hours_start: '09:00', working_hours_end: '17:00', slack_rpm_limit: 5 };
let count = 0;

const clone = (id: string, name: string, options: { key?: string; headers?: Record<string, string> } = {}): Promise<Answer> =>
  p.send('POST', `/agents/${id}/clone`, { body: { name }, ...options });
const createAgent = async (fields: Json = {}): Promise<string> => {
  const slug = `source${count++}`;
  return ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Source', slug, ...fields } })).body as Json).id as string;
};
const agentPath = (id: unknown): string => `${p.tenant}/agents/${id}`;
const cloned = () => p.eventsOf('AgentCloned').length;
const [owner] = p.eventsOf('UserRegistered').map(({ id }) => id);

test('a copy has the settings, model chain, budget and Slack settings of its source, the caller as its owner, and an event that names the source', async () => {
  const id = await createAgent({ kind: 'coding', description: 'Reads', voice: 'v', can_author_skills: true });
  const source = agentPath(id);
  const { key, user_id } = await addMember(p, 'MEMBER');
  await p.send('PUT', `${source}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  await p.send('PUT', `${source}/budget`, { body: { hourly_limit_usd: 2.5 } });
  await p.send('PUT', `${source}/slack-config`, { body: HOURS });
  const [model] = p.eventsOf('ModelRegistered');
  await p.send('PUT', `${source}/models`, { body: { model_ids: [model!.id] } });
  const changed = await p.send('PATCH', source, { body: { is_active: false, ssh_public_key: 'k', external_mail_enabled: false } });

  const answer = await clone(id, 'The Copy', { key });
  const copy = answer.body as Json;
  assert.is(answer.status, 201, answer.text);
  assert.equal([answer.headers.get('location'), answer.headers.get('etag')], [agentPath(copy.id), '"0"']);
  const { id: _, created_at, updated_at, ...rest } = changed.body as Json;
  const own = {
    name: 'The Copy',
    slug: 'the-copy',
    is_active: true,
    ssh_public_key: null,
    can_author_skills: false,
    created_by_id: user_id,
  };
  assert.equal(copy, { ...rest, ...own, id: copy.id, created_at: copy.created_at, updated_at: copy.updated_at });
  await p.waitForProjections();
  const read = async (part: string) => (await p.send('GET', `${agentPath(copy.id)}/${part}`, { key })).body as Json;
  assert.equal((await p.send('GET', agentPath(copy.id), { key })).body, copy);
  assert.equal([await read('budget'), (await read('slack-config')).working_hours_end], [{ hourly_limit_usd: 2.5 }, '17:00']);
  assert.equal(
    ((await read('models')) as unknown as Json[]).map(({ model_id, agent_id }) => [model_id, agent_id]),
    [[model!.id, copy.id]],
  );
  assert.equal(
    ((await read('roles')) as unknown as Json[]).map(({ user_id: holder, role }) => [holder, role]),
    [[user_id, 'OWNER']],
  );
  const event = p.eventsOf('AgentCloned')[0]!;
  const { source_id, source_revision } = event.data as Json;
  assert.equal([event.actor.id, source_id, `"${source_revision}"`], [user_id, id, changed.headers.get('etag')]);
});

test('a copied agent keeps its Slack settings when those of its source change, and updates can be partial', async () => {
  const id = await createAgent();
  await p.send('PUT', `${agentPath(id)}/slack-config`, { body: HOURS });
  const copy = agentPath(((await clone(id, 'Own hours')).body as Json).id);
  await p.send('PUT', `${agentPath(id)}/slack-config`, { body: { working_hours_start: '10:00' } });
  const read = async () => (await p.send('GET', `${copy}/slack-config`)).body as Json;
  assert.is((await read()).working_hours_start, '09:00');
  assert.is((await p.send('PUT', `${copy}/slack-config`, { body: { working_hours_end: '09:00' } })).status, 422);
  const before = p.log.events.length;
  assert.is((await p.send('PUT', `${copy}/slack-config`, { body: { working_hours_end: '17:00' } })).status, 200);
  assert.is(p.log.events.length, before, 'what is inherited already is no change');
  const updated = await p.send('PUT', `${copy}/slack-config`, { body: { slack_rpm_limit: null } });
  assert.equal([updated.body, (await read()).working_hours_start, (await read()).slack_rpm_limit], [await read(), '09:00', null]);
  assert.is((await p.send('POST', `${copy}/restore`, { body: { revision: 0 } })).status, 200);
  assert.is((await read()).slack_rpm_limit, 5, 'the revision 0 of a copy has the inherited settings');
  const second = ((await clone(String(copy.split('/').at(-1)), 'Copy of the copy')).body as Json).id;
  assert.is(((await p.send('GET', `${agentPath(second)}/slack-config`)).body as Json).working_hours_end, '17:00');
});

test('copies with the same name get different slugs, and no copy gets the slug of a deleted agent', async () => {
  const id = await createAgent();
  const slugs = [];
  for (let copies = 0; copies < 12; copies++) slugs.push(((await clone(id, 'Twin')).body as Json).slug);
  assert.equal(slugs.slice(0, 9), ['twin', 'twin-2', 'twin-3', 'twin-4', 'twin-5', 'twin-6', 'twin-7', 'twin-8', 'twin-9']);
  for (const slug of slugs.slice(9)) assert.match(String(slug), /^twin-[a-z0-9]{8}$/);
  assert.is(new Set(slugs).size, 12);
  const gone = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Gone', slug: 'phoenix' } })).body as Json;
  await p.send('DELETE', agentPath(gone.id));
  assert.is(((await clone(id, 'Phoenix')).body as Json).slug, 'phoenix-2');
  assert.is((await p.send('POST', `${agentPath(gone.id)}/restore`, { body: {} })).status, 200);
});

test('if many requests clone an agent under the same name at once, each request creates a copy with its own slug', async () => {
  const id = await createAgent();
  const answers = await Promise.all(Array.from({ length: 8 }, () => clone(id, 'Crowd')));
  assert.equal(
    answers.map(({ status }) => status),
    Array(8).fill(201),
  );
  assert.is(new Set(answers.map(({ body }) => (body as Json).slug)).size, 8);
});

test('cloning an agent gets 422 if the name of the copy is missing, invalid or equal to that of the source, or if the body has unknown fields', async () => {
  const id = await createAgent();
  const before = cloned();
  const bodies: unknown[] = [{ name: 'Source' }, {}, { name: '' }, { name: 'a_b' }, { name: null }, { name: 'x'.repeat(256) }];
  for (const body of [...bodies, { name: 'Copy', slug: 'copy' }]) {
    const { status, text } = await p.send('POST', `/agents/${id}/clone`, { body });
    assert.is(status, 422, `${JSON.stringify(body)} ${text}`);
  }
  assert.is((await clone(id, 'x'.repeat(255))).status, 201);
  assert.is(cloned(), before + 1);
});

const comparable = ({ status, headers, text }: Answer, id: string) => ({
  status,
  text: text.replaceAll(id, 'ID').replace(/"request_id":"[^"]+"/, ''),
  headers: [...headers].filter(([name]) => name !== 'x-request-id'),
});

test('cloning an agent that is deleted, hidden or in another tenant gets the same response as cloning a missing one, even with an invalid body', async () => {
  const other = await createSecondTenant(p, 'foreign');
  const foreign = (await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'F', slug: 'f' } })).body as Json;
  const deleted = await createAgent();
  await p.send('DELETE', agentPath(deleted));
  const hidden = await createAgent({ is_admin_only: true });
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'sees.nothing@example.com');
  const unbound = p.key;
  const before = cloned();
  for (const key of [unbound, member.key, other.key])
    for (const body of [{ name: 'Copy' }, {}]) {
      const ask = async (id: string) => comparable(await p.send('POST', `/agents/${id}/clone`, { key, body }), id);
      const missing = await ask(MISSING);
      assert.is(missing.status, 404);
      if (key !== other.key) assert.equal(await ask(String(foreign.id)), missing, 'foreign');
      assert.equal(await ask(deleted), missing, 'deleted');
      if (key !== unbound) assert.equal(await ask(hidden), missing, 'hidden');
      if (key !== unbound) assert.equal(await ask(await createAgent()), missing, 'without a role on it');
    }
  assert.is(cloned(), before);
});

test('with a credential that is not bound to a tenant, a user can clone agents of all their tenants, including a tenant that they have just joined', async () => {
  const other = await createSecondTenant(p, 'joined');
  const foreign = (await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'F', slug: 'f' } })).body as Json;
  await p.waitForProjections();
  assert.is((await clone(String(foreign.id), 'Copy')).status, 404);
  p.projectionDelay.ms = 100;
  const { email } = p.eventsOf('UserRegistered').find(({ id }) => id === owner)!.data as { email: string };
  assert.is((await p.send('POST', `${other.tenant}/members`, { key: other.key, body: { email, role: 'ADMIN' } })).status, 201);
  const copy = await clone(String(foreign.id), 'Copy');
  p.projectionDelay.ms = 0;
  assert.equal([copy.status, (copy.body as Json).tenant_id], [201, other.id], copy.text);
  await p.waitForProjections();
  const bound = await p.createKey(p.tenant_id, owner!);
  assert.is((await clone(String(foreign.id), 'Copy', { key: bound })).status, 404, 'a key of one tenant works only there');
});

test('cloning an agent gets 403 for an AUDITOR (who may read agents but not create any), for a read-only key and for a runner key', async () => {
  const id = await createAgent();
  const auditor = await addMember(p, 'AUDITOR');
  const readOnly = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'r', read_only: true } })).body as Json;
  const runner = (await p.send('POST', `${agentPath(id)}/runner-keys`, { body: { name: 'r' } })).body as Json;
  for (const key of [auditor.key, String(readOnly.key), String(runner.key)]) assert.is((await clone(id, 'Copy', { key })).status, 403);
});

test('a repeated clone request with the same Idempotency-Key returns the same copy, even if the source was deleted in between and its slug was reused', async () => {
  const id = await createAgent();
  await clone(id, 'Repeated');
  const headers = { 'idempotency-key': 'clone-1' };
  const first = await clone(id, 'Repeated', { headers });
  assert.equal([first.status, (first.body as Json).slug], [201, 'repeated-2']);
  await p.send('PATCH', agentPath((first.body as Json).id), { body: { voice: 'later' } });
  const before = cloned();
  const same = [first.status, first.body, first.headers.get('etag'), first.headers.get('location')];
  for (const isDeleted of [false, true]) {
    if (isDeleted) await p.send('DELETE', agentPath(id));
    const again = await clone(id, 'Repeated', { headers });
    assert.equal([again.status, again.body, again.headers.get('etag'), again.headers.get('location')], same);
  }
  assert.is(cloned(), before);
  assert.is((await clone(id, 'Another name', { headers })).status, 422, 'another body');
});

test('cloning an agent with If-Match is refused unless the header names the current revision of the source', async () => {
  const id = await createAgent();
  await p.send('PATCH', agentPath(id), { body: { voice: 'v' } });
  assert.is((await clone(id, 'Old', { headers: { 'if-match': '"0"' } })).status, 412);
  assert.is((await clone(id, 'New', { headers: { 'if-match': '"1"' } })).status, 201);
  assert.is((await clone(id, 'Any', { headers: { 'if-match': '*' } })).status, 201);
});

test('the copy of an admin-only agent is admin-only, too', async () => {
  const id = await createAgent({ is_admin_only: true });
  assert.is(((await clone(id, 'Secret')).body as Json).is_admin_only, true);
});

test('a copy of an agent counts against the agent limit of the plan, and is included in the list and the number of agents', async () => {
  const limited: TestPlatform = await createTestPlatform();
  const limits = { agents: 2, members: 5, cron_jobs: 0, webhooks_per_minute: 60 };
  const plan = (await limited.send('POST', '/admin/plans', { body: { slug: 'two', name: 'Two', monthly_usd: 0, limits } })).body as Json;
  await limited.send('PATCH', `/admin/tenants/${limited.tenant_id}`, { body: { plan_id: plan.id } });
  const { id } = (await limited.send('POST', `${limited.tenant}/agents`, { body: { name: 'One', slug: 'one' } })).body as Json;
  const copies = await Promise.all(['Two', 'Three', 'Four'].map((name) => limited.send('POST', `/agents/${id}/clone`, { body: { name } })));
  assert.equal(copies.map(({ status }) => status).sort(), [201, 409, 409]);
  assert.is((copies.find(({ status }) => status === 409)!.body as Json).code, 'plan_limit');
  await limited.waitForProjections();
  const list = await limited.send('GET', `${limited.tenant}/agents`);
  assert.equal([(list.body as Json[]).length, list.headers.get('total-count')], [2, '2']);
  assert.is(((await limited.send('GET', '/admin/tenants')).body as Json[])[0]!.agent_count, 2);
  assert.equal(limited.unappliedEvents(), []);
  await limited.close();
});

test('if the event that records a copy would exceed the maximum size of an event, cloning gets 413, and the detail of the problem gives this reason', async () => {
  const id = await createAgent({ description: 'x'.repeat(500_000) });
  await p.send('PATCH', agentPath(id), { body: { description_prompt: 'y'.repeat(500_000) } });
  const before = cloned();
  const { status, body } = await clone(id, 'Too large');
  assert.equal([status, cloned()], [413, before]);
  assert.match(String((body as Json).detail), /too large to be copied: its texts and the configurations of its tools/);
});

test('the audit log entry of a copy names the agent that was copied', async () => {
  await p.waitForProjections();
  const [entry] = (await p.send('GET', `${p.tenant}/audit-logs?action=agent.cloned&limit=1`)).body as Json[];
  const { source_id } = entry!.meta as Json;
  const { name } = (await p.send('GET', `${p.tenant}/agents/${source_id}`)).body as Json;
  assert.ok(String(entry!.summary).endsWith(` as a copy of the agent “${name}”.`), String(entry!.summary));
});

afterLastTest(() => p.close());

test.run();
