import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agents = [await createAgent(p, 'Reviewer'), await createAgent(p, 'Triage')];
const alan = await addMember(p, 'MEMBER', p.tenant_id, 'alan@example.com');
const radia = await addMember(p, 'AUDITOR', p.tenant_id, 'radia@example.com');
for (const agent of agents) await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${alan.user_id}`, { body: { role: 'VIEWER' } });
await p.signIn(alan.key);
await p.recordPending();
await p.waitForProjections();

const membersPath = `${p.base}/members`;
const memberPath = `${membersPath}/${alan.user_id}`;
const idsIn = (text: string, kind: string): string[] =>
  [...text.matchAll(new RegExp(`data-kind="${kind}" data-id="(\\w+)"`, 'g'))].map(([, id]) => id!);
const rowOf = (text: string, id: string): string => text.slice(text.indexOf(`data-id="${id}"`)).split('</tr>')[0]!;

test('the list of members counts roles, and says on how many agents each has a role and when keys were last used', async () => {
  const { text } = await p.open(membersPath);
  const countsIn = (page: string) => [...page.matchAll(/data-count="(\d+)"/g)].map(([, count]) => Number(count));
  assert.equal(countsIn(text), [3, 1, 0, 1, 1]);
  assert.equal(countsIn((await p.open(`${membersPath}?q=ALAN@`)).text), [1, 0, 0, 1, 0], 'under a search, of those found');
  assert.match(rowOf(text, alan.user_id), /data-label="Agents">2<[\s\S]*data-label="Key last used"><relative-time/);
  assert.match(rowOf(text, radia.user_id), /data-label="Agents">0<[\s\S]*data-label="Key last used"><span class="quiet">never/);
});

test('members are found by a part of their name or address, and by role; nothing found offers to clear the filters', async () => {
  assert.equal(idsIn((await p.open(`${membersPath}?q=ALAN@`)).text, 'member'), [alan.user_id]);
  assert.equal(idsIn((await p.open(`${membersPath}?role=AUDITOR`)).text, 'member'), [radia.user_id]);
  const none = await p.open(`${membersPath}?role=AUDITOR&q=alan`);
  assert.match(none.text, /data-empty[\s\S]*No member matches[\s\S]*Clear the filters/);
});

test('members of the past cannot be searched by name: the API refuses it, and the page shows all without a search', async () => {
  const as_of = new Date().toISOString();
  const refused = await p.send('GET', `${p.tenant}/members?q=alan&as_of=${as_of}`);
  const [error] = (refused.body as { errors: { pointer: string; code: string }[] }).errors;
  assert.equal([refused.status, error?.pointer, error?.code], [422, '/query/as_of', 'not_with_filters']);
  assert.is((await p.send('GET', `${p.tenant}/members?q=%20&role=MEMBER&as_of=${as_of}`)).status, 200);
  const { text } = await p.open(`${membersPath}?q=alan&as_of=${as_of}`);
  assert.is(idsIn(text, 'member').length, 3);
  assert.match(text, /data-unfiltered/);
  assert.not.match(text, /type="search"/);
});

test('without tenant:audit:read, the list of members says neither when their keys were used nor what they have', async () => {
  const session = await p.signIn(alan.key);
  const { status, text } = await p.open(membersPath, session);
  assert.is(status, 200);
  assert.not.match(text, /Key last used|data-label="Agents"|href="[^"]+\/members\/c/);
  assert.is((await p.send('GET', `${p.tenant}/members/activity`, { key: alan.key })).status, 403);
});

test('the page of a member has their access, keys, sessions and history on tabs, each by its URL', async () => {
  const { id } = await seedSession(p, agents[0]!, { user_id: alan.user_id });
  await p.waitForProjections();
  assert.equal(idsIn((await p.open(memberPath)).text, 'member-access').toSorted(), agents.toSorted());
  const keys = await p.open(`${memberPath}?tab=keys`);
  assert.equal(idsIn(keys.text, 'apikey'), [alan.key_id]);
  assert.match(keys.text, /run\/renameApiKey[\s\S]*run\/revokeApiKey/);
  assert.equal(idsIn((await p.open(`${memberPath}?tab=sessions`)).text, 'session'), [id]);
  const history = await p.open(`${memberPath}?tab=history`);
  assert.match(history.text, /What happened to them[\s\S]*data-kind="audit"[\s\S]*VIEWER/);
  for (const { text } of [keys, history]) assert.not.match(text, /data-problem/);
});

test('an AUDITOR sees no keys on the page of a member, and the tab in a URL leads to the access instead', async () => {
  const session = await p.signIn(radia.key);
  const { status, text } = await p.open(`${memberPath}?tab=keys`, session);
  assert.is(status, 200);
  assert.not.match(text, /data-kind="apikey"|>Keys<\/a>/);
  assert.match(text, /data-kind="member-access"/);
});

test('the list of API keys names the owner of each key, and a key is renamed by the form in its menu', async () => {
  const named = async () => rowOf((await p.open(`${p.base}/api-keys`)).text, alan.key_id);
  assert.match(await named(), /MEMBER[\s\S]*data-label="Owner">alan@example\.com/);
  const renamed = await p.send('PATCH', `${p.tenant}/api-keys/${alan.key_id}`, { body: { name: 'Laptop' } });
  assert.is(renamed.status, 200, renamed.text);
  await p.waitForProjections();
  assert.match(await named(), /Laptop/);
  const { text } = await p.open(`${p.base}/audit?by=all&about=${alan.key_id}`);
  assert.match(text, /renamed the API key/);
});

test('a key of an OWNER is renamed by an OWNER only, and a revoked key by nobody', async () => {
  const admin = await addMember(p, 'ADMIN', p.tenant_id, 'grace@example.com');
  const owner = p.eventsOf('MemberAdded').find(({ data }) => (data as { role: string }).role === 'OWNER')!.data as { user_id: string };
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'CI' } });
  await p.waitForProjections();
  const [own] = (await p.send('GET', `${p.tenant}/api-keys?user_id=${owner.user_id}`)).body as { id: string; owner_id: string }[];
  assert.is(own!.owner_id, owner.user_id);
  const rename = (id: string, key?: string) =>
    p.send('PATCH', `${p.tenant}/api-keys/${id}`, { ...(key && { key }), body: { name: 'Mine' } });
  assert.is((await rename(own!.id, admin.key)).status, 403);
  assert.is((await rename(radia.key_id, admin.key)).status, 200);
  assert.is((await p.send('DELETE', `${p.tenant}/api-keys/${radia.key_id}`)).status, 204);
  assert.is((await rename(radia.key_id)).status, 404);
});

test('the list of keys names the owner of each, and offers Rename and Revoke only to people who may do it', async () => {
  const ada = await addMember(p, 'ADMIN', p.tenant_id, 'ada@example.com');
  const left = await addMember(p, 'MEMBER', p.tenant_id, 'left@example.com');
  const owner = p.eventsOf('MemberAdded')[0]!.data as { user_id: string };
  const { id } = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Of the owner' } })).body as { id: string };
  assert.is((await p.send('DELETE', `${p.tenant}/members/${left.user_id}`)).status, 204);
  await p.waitForProjections();
  const asAdmin = await p.signIn(ada.key);
  const asOwner = await p.signIn();
  const keys = `${p.base}/api-keys`;
  const ownKeys = `${membersPath}/${owner.user_id}?tab=keys`;
  for (const [cookie, path, key, isOffered] of [
    [asAdmin, keys, id, false],
    [asAdmin, ownKeys, id, false],
    [asAdmin, keys, alan.key_id, true],
    [asAdmin, keys, left.key_id, true],
    [asOwner, keys, id, true],
    [asOwner, ownKeys, id, true],
  ] as const) {
    const row = rowOf((await p.open(path, cookie)).text, key);
    assert.equal([/run\/renameApiKey/.test(row), /run\/revokeApiKey/.test(row)], [isOffered, isOffered], `${path} ${key}`);
  }
  const { text } = await p.open(keys, asOwner);
  assert.match(rowOf(text, alan.key_id), /data-label="Owner">alan@example\.com</);
  assert.match(rowOf(text, left.key_id), /data-label="Owner">no longer a member</);
});

test('members are listed by their ids, together with the other filters', async () => {
  const listed = async (query: string) =>
    ((await p.send('GET', `${p.tenant}/members?${query}`)).body as { user_id: string }[]).map(({ user_id }) => user_id).toSorted();
  const both = [alan.user_id, radia.user_id];
  assert.equal(await listed(`user_id=${both}`), both.toSorted());
  assert.equal(await listed(`user_id=${both}&role=AUDITOR`), [radia.user_id]);
  assert.equal(await listed(`user_id=${both}&q=alan`), [alan.user_id]);
  assert.equal(await listed(`user_id=c${'0'.repeat(24)}`), []);
  assert.is((await p.send('GET', `${p.tenant}/members?user_id=alan`)).status, 422);
});

test('pages name people by their ids, also those after the first 200 members and those who have left', async () => {
  for (let n = 0; n < 200; n++) await addMember(p, 'MEMBER', p.tenant_id, `member-${n}@example.com`);
  const late = await addMember(p, 'ADMIN', p.tenant_id, 'late@example.com');
  const gone = await addMember(p, 'ADMIN', p.tenant_id, 'gone@example.com');
  const act = async (who: typeof late) => {
    const { status, text } = await p.send('PUT', `${p.tenant}/agents/${agents[0]}/roles/${who.user_id}`, {
      ...{ key: who.key, body: { role: 'VIEWER' } },
    });
    assert.ok(status < 300, text);
    const sent = await p.send('POST', `${p.tenant}/agents/${agents[0]}/memory`, { key: who.key, body: { text: 'A fact' } });
    assert.ok(sent.status < 300, sent.text);
  };
  await act(late);
  await act(gone);
  assert.is((await p.send('DELETE', `${p.tenant}/members/${gone.user_id}`)).status, 204);
  await p.waitForProjections();
  const events = (await p.open(`${p.base}/events`)).text;
  assert.match(events, /data-label="By">late@example\.com</);
  assert.match(events, /data-label="By">not a member</);
  const link = `href="${membersPath}/${late.user_id}"`;
  for (const path of ['/audit', `/members/${late.user_id}?tab=history`])
    assert.ok((await p.open(`${p.base}${path}`)).text.includes(link), path);
  const memory = (await p.open(`${p.base}/agents/${agents[0]}/memory`)).text;
  assert.match(memory, /data-label="From">late@example\.com /);
});

afterLastTest(() => p.close());

test.run();
