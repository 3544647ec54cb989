import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Item = { id: string; label: string; type: string; detail: string | null };

const p = await createSessionPlatform();
const post = async (path: string, body: object): Promise<Json> => {
  const answer = await p.send('POST', `${p.tenant}${path}`, { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.body as Json;
};
const agents: Record<string, string> = {};
for (const name of ['Review', 'Code Review', 'Preview', 'Rewriter', 'Emil']) {
  agents[name] = String((await post('/agents', { name, slug: name.toLowerCase().replace(' ', '-') })).id);
}
await post('/skills', { name: 'Review code', slug: 'review-code', description: 'x', instructions: 'x', visibility: 'public' });
await post('/skills', { name: 'Review secrets', slug: 'review-secrets', description: 'x', instructions: 'x', visibility: 'private' });
await post('/tools', { name: 'review_pull', display_name: 'Pull reviewer', description: 'x', description_long: 'x' });
const session = await p.startSession({ title: 'Review of the release' });
const raw = formBody({ name: 'upload', filename: 'review-notes.txt', content: 'notes' });
const file = await p.send('POST', `${session}/attachments`, { key: p.agent.runner, raw, headers: { 'content-type': FORM_TYPE } });
assert.is(file.status, 201, file.text);
const member = await addMember(p, 'MEMBER', p.tenant_id, 'reviewer@example.com');
await p.waitForProjections();

const find = async (query: string, key = p.key): Promise<Item[]> => {
  const answer = await p.send('GET', `${p.tenant}/autocomplete?${query}`, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Item[];
};
const labels = async (query: string, key?: string): Promise<string[]> => (await find(query, key)).map(({ label }) => label);

test('the search lists items of all types: first those whose name starts with the search text, then those in which a later word starts with it', async () => {
  assert.equal(await labels('q=review'), [
    'Review',
    'Review code',
    'Review secrets',
    'review-notes.txt',
    'reviewer@example.com',
    'Review of the release',
    'Code Review',
    'Pull reviewer',
    'Preview',
  ]);
  assert.equal([...new Set((await find('q=review')).map(({ type }) => type))].sort(), [
    'agent',
    'file',
    'session',
    'skill',
    'tool',
    'user',
  ]);
});

test('searching for a complete id finds the agent, session, delivery or event with that id, but only if the caller may see it', async () => {
  const found = async (id: string, key?: string) => (await find(`q=${id}`, key)).map(({ id: one, type }) => [one, type]);
  const sessionId = session.split('/').at(-1)!;
  assert.equal(await found(agents.Emil!), [[agents.Emil, 'agent']]);
  assert.equal(await found(sessionId), [[sessionId, 'session']]);
  const event = p.eventsOf('AgentCreated')[0]!.event_id;
  assert.equal(await found(event), [[event, 'event']]);
  assert.equal(await found(`c${'0'.repeat(24)}`), []);
  for (const id of [agents.Emil!, sessionId, event]) assert.equal(await found(id, member.key), []);
  assert.equal(await find(`q=${agents.Emil}&types=user`), []);
});

test('each item that the search finds has an id, a label and a detail, whatever its type', async () => {
  const of = async (type: string) => (await find(`q=review&types=${type}`))[0];
  assert.equal(await of('agent'), { id: agents.Review, label: 'Review', type: 'agent', detail: 'review' });
  assert.equal(await of('user'), { id: member.user_id, label: 'reviewer@example.com', type: 'user', detail: 'reviewer@example.com' });
  assert.equal([(await of('tool'))!.detail, (await of('skill'))!.detail], ['review_pull', 'review-code']);
  const sha256 = (file.body as Json).sha256;
  assert.equal(await of('file'), { id: sha256, label: 'review-notes.txt', type: 'file', detail: 'text/plain' });
  assert.equal(await of('session'), { id: session.split('/').at(-1), label: 'Review of the release', type: 'session', detail: 'running' });
});

test('the search ignores upper and lower case, matches a short text only at the start of a name, and treats wildcards as plain characters', async () => {
  assert.equal(await labels('q=REW&types=agent'), ['Rewriter']);
  assert.equal(await labels('q=r&types=agent'), ['Review', 'Rewriter']);
  assert.equal(await labels('q=ev&types=agent'), []);
  assert.equal(await labels('q=evi&types=agent'), ['Review', 'Preview', 'Code Review']);
  assert.equal([await labels('q=%25&types=agent'), await labels('q=___&types=agent')], [[], []]);
});

test('without a search text, the search lists the first items of each type; the limit applies to all types together', async () => {
  assert.is((await labels('types=agent')).length, 6);
  assert.equal((await labels('q=review&limit=2')).length, 2);
  assert.equal(await labels('q=review&types=agent,agent&limit=1'), ['Review']);
});

test('the search shows a member all tools and users of the tenant, but only those agents, sessions, files and skills that the member may read', async () => {
  assert.equal(await labels('q=review', member.key), ['Review code', 'reviewer@example.com', 'Pull reviewer']);
  await p.send('PUT', `${p.tenant}/agents/${agents.Preview}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  await p.send('PUT', `${p.agent.path}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  assert.equal(await labels('q=review&types=agent,session,file', member.key), ['review-notes.txt', 'Review of the release', 'Preview']);
});

test('the search shows an AUDITOR all agents, but no sessions and no files', async () => {
  const { key } = await addMember(p, 'AUDITOR');
  assert.equal(await labels('q=review&types=agent,session,file', key), ['Review', 'Code Review', 'Preview']);
});

test('the search does not find deleted agents', async () => {
  await p.send('DELETE', `${p.tenant}/agents/${agents.Rewriter}`);
  await p.waitForProjections();
  assert.equal(await labels('q=rewriter'), []);
});

test('the search does not find removed members', async () => {
  await p.send('DELETE', `${p.tenant}/members/${member.user_id}`);
  await p.waitForProjections();
  assert.equal(await labels('q=reviewer&types=user'), []);
});

test('a search is refused if it has an unknown type, an empty list of types or a limit out of range', async () => {
  for (const query of ['types=agents', 'types=', 'types=agent,', 'limit=0', 'limit=201', `q=${'x'.repeat(256)}`, 'sort=name'])
    assert.is((await p.send('GET', `${p.tenant}/autocomplete?${query}`)).status, 422, query);
});

test.run();
