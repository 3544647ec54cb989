import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';

type List = { items: Json[]; total: number; page: number; per_page: number };

const p = await createSessionPlatform();
const { agent } = p;
const other = await p.createAgent();
const ada = await addMember(p, 'MEMBER', p.tenant_id, 'ada@example.com');
const auditor = await addMember(p, 'AUDITOR');
const list = async (query = ''): Promise<List> => (await p.send('GET', `/v1/tenants/${p.tenant_id}/sessions${query}`)).body as List;
const idsOf = ({ items }: List): unknown[] => items.map(({ id }) => id);
const idOf = (session: string): string => session.split('/').at(-1)!;

const sessions: string[] = [];
for (let number = 0; number < 25; number++)
  sessions.push(await p.startSession({ title: `Session ${number}`, ...(number < 3 ? { user_id: ada.user_id } : {}) }));
const ofOther = String(((await p.send('POST', `${other.path}/sessions`, { body: {} })).body as Json).id);
for (const session of sessions.slice(0, 4)) await p.end(session, 'complete');
const newestFirst = [ofOther, ...sessions.map(idOf).reverse()];

test('the sessions of a tenant are listed newest first, in numbered pages of 20, with the total number', async () => {
  const first = await list();
  assert.equal([first.total, first.page, first.per_page], [26, 1, 20]);
  assert.equal(idsOf(first), newestFirst.slice(0, 20));
  const second = await list('?page=2');
  assert.equal([second.page, idsOf(second)], [2, newestFirst.slice(20)]);
  const beyond = await list('?page=3');
  assert.equal([beyond.total, beyond.items], [26, []]);
  assert.equal(idsOf(await list('?page=3&per_page=5')), newestFirst.slice(10, 15));
  const pages = [
    'page=0',
    'page=-1',
    'page=1000000000',
    'page=x',
    'page=1.5',
    'per_page=0',
    'per_page=-1',
    'per_page=101',
    'per_page=1000000000',
  ];
  for (const wrong of [...pages, 'limit=5', 'sort=title', 'status=done', 'agent_id=x', 'from=today'])
    assert.is((await p.send('GET', `/v1/tenants/${p.tenant_id}/sessions?${wrong}`)).status, 422, wrong);
});

test('each session in the list has the fields of AuditSessionListItem, with the names of its agent and its user', async () => {
  const { items } = await list(`?user_id=${ada.user_id}`);
  assert.is(items.length, 3);
  const [item] = items as [Json];
  assert.equal(Object.keys(item).sort(), [
    'agent_id',
    'agent_name',
    'completed_at',
    'created_at',
    'created_by_id',
    'id',
    'message_count',
    'started_at',
    'status',
    'tenant_id',
    'title',
    'user_email',
    'user_name',
  ]);
  assert.equal([item.agent_name, item.user_email, item.title, item.status], ['Agent 0', 'ada@example.com', 'Session 2', 'completed']);
});

test('each filter of the list selects some of the sessions and changes the total number accordingly; all filters can be combined', async () => {
  const at = (await list(`?agent_id=${agent.id}&per_page=100`)).items.find(({ id }) => id === idOf(sessions[10]!))!.created_at as string;
  const sameTime = (await list('?per_page=100')).items;
  for (const [query, expected] of [
    [`agent_id=${other.id}`, [ofOther]],
    ['status=completed', sessions.slice(0, 4).map(idOf).reverse()],
    [`user_id=${ada.user_id}&status=completed&agent_id=${agent.id}`, sessions.slice(0, 3).map(idOf).reverse()],
    ['status=expired', []],
    [`from=${at}`, sameTime.filter(({ created_at }) => String(created_at) >= at).map(({ id }) => id)],
    [`to=${at}`, sameTime.filter(({ created_at }) => String(created_at) < at).map(({ id }) => id)],
  ] as const) {
    const found = await list(`?per_page=100&${query}`);
    assert.equal([idsOf(found), found.total], [expected, expected.length], query);
  }
});

test('an AUDITOR can read all sessions and messages of the tenant with the audit operations, but not with the operations under the agents', async () => {
  await p.append(sessions[20]!, { content: 'For auditors' });
  const get = (path: string, key: string) => p.send('GET', path, { key });
  const detail = await get(`/v1/tenants/${p.tenant_id}/sessions/${idOf(sessions[20]!)}`, auditor.key);
  assert.equal([detail.status, (detail.body as { messages: Json[] }).messages[0]!.content], [200, 'For auditors']);
  assert.is((await get(`/v1/tenants/${p.tenant_id}/sessions`, auditor.key)).status, 200);
  assert.is((await get(sessions[20]!, auditor.key)).status, 403);
  assert.is((await get(`/v1/tenants/${p.tenant_id}/sessions`, ada.key)).status, 403);
  assert.is((await get(`/v1/tenants/${p.tenant_id}/sessions/c${'0'.repeat(24)}`, auditor.key)).status, 404);
});

test('a session shows the user who started it, and still shows the name of its agent after the agent is deleted', async () => {
  const third = await p.createAgent();
  await p.send('PUT', `${third.path}/roles/${ada.user_id}`, { body: { role: 'MANAGER' } });
  const started = (await p.send('POST', `${third.path}/sessions`, { key: ada.key, body: {} })).body as Json;
  assert.equal([started.created_by_id, started.user_id, started.user_email], [ada.user_id, null, 'ada@example.com']);
  await p.send('DELETE', third.path);
  const { items } = await list(`?agent_id=${third.id}`);
  assert.equal([items[0]!.id, items[0]!.agent_name, items[0]!.user_email], [started.id, started.agent_name, 'ada@example.com']);
});

test('the 30-day summaries of a tenant show the number of sessions per status, and the usage and cost of models', async () => {
  const created = (await p.send('POST', '/admin/tenants', { body: { name: 'T', slug: 'summed', owner_email: 'o@example.com' } }))
    .body as Json;
  const [key, tenant] = [String(created.owner_key), `/tenant/${created.id}`];
  const post = async (path: string, body: object, by = key) => (await p.send('POST', `${tenant}${path}`, { key: by, body })).body as Json;
  const id = (await post('/agents', { name: 'A', slug: 'a' })).id;
  const runner = String((await post(`/agents/${id}/runner-keys`, { name: 'r' })).key);
  const now = Date.now();
  const DAY = 86_400_000;
  /**
   * Simulates a session that started this many days ago and has one message. Unless `end` is null, the session is
   * ended.
   */
  const runSession = async (daysAgo: number, end: string | null, message: object) => {
    p.clock.now = () => now - daysAgo * DAY;
    const session = (await post(`/agents/${id}/sessions`, {}, runner)).id;
    await post(`/sessions/${session}/messages`, { role: 'assistant', content: 'x', ...message }, runner);
    if (end) await post(`/sessions/${session}/${end}`, {}, runner);
    p.clock.now = () => now;
  };
  await runSession(0, null, { prompt_tokens: 10, completion_tokens: 1, cost_usd: 0.25 });
  await runSession(0, null, { kind: 'waiting' });
  await runSession(1, 'complete', { prompt_tokens: 20, completion_tokens: 2, cost_usd: 0.5 });
  await runSession(29, 'fail', { prompt_tokens: 40, completion_tokens: 4, cost_usd: 1.000001 });
  await runSession(5, 'cancel', {});
  await runSession(30, 'complete', { prompt_tokens: 1_000, completion_tokens: 1_000, cost_usd: 100 });
  const detail = (await p.send('GET', `/admin/tenants/${created.id}`)).body as Json;
  const start = `${new Date(now - 29 * DAY).toISOString().slice(0, 10)}T00:00:00.000Z`;
  assert.equal(detail.task_summary_30d, { total: 5, running: 2, completed: 1, failed: 1, cancelled: 1 });
  assert.equal(detail.usage_summary_30d, {
    requests: 3,
    input_tokens: 70,
    output_tokens: 7,
    cost_usd: 1.750001,
    period: { start, end: new Date(now).toISOString() },
  });
  p.clock.now = Date.now;
});

afterLastTest(() => p.close());

test.run();
