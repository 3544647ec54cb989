import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const create = async (name: string, slug: string): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name, slug } })).body as Json).id as string;
const [ANNA, BERT, CARL] = [await create('Anna', 'first'), await create('Bert', 'second'), await create('Carl', 'third-bert')];
const member = await addMember(p, 'ADMIN');
const favorite = (method: 'PUT' | 'DELETE', agent: string, key = p.key, headers = {}) =>
  p.send(method, `${p.tenant}/agents/${agent}/favorite`, { key, headers });
const list = async (query = '', key = p.key): Promise<Json[]> =>
  (await p.send('GET', `${p.tenant}/agents?sort=name${query}`, { key })).body as Json[];
const favoritesIn = (agents: Json[]) => agents.filter(({ is_favorite }) => is_favorite).map(({ id }) => id);
const idsOf = (agents: Json[]) => agents.map(({ id }) => id);
const owner = p.eventsOf('UserRegistered')[0]!.id;

test('a favorite is marked only in the list of the user who marked it; marking it again appends no event', async () => {
  const answer = await favorite('PUT', BERT);
  assert.equal([answer.status, answer.body], [200, { user_id: owner, agent_id: BERT }]);
  assert.ok(answer.headers.get('consistency-token'));
  assert.not.ok(answer.headers.get('etag'), 'the stream of the user has other events, too');
  const [event] = p.eventsOf('AgentFavorited');
  assert.equal([event!.stream, event!.data], [`user-platform.${owner}`, { agent_id: BERT, tenant_id: p.tenant_id }]);
  await p.waitForProjections();
  assert.equal(favoritesIn(await list()), [BERT]);
  assert.equal(favoritesIn(await list('', member.key)), []);
  const events = p.log.events.length;
  assert.equal((await favorite('PUT', BERT)).body, answer.body);
  assert.is(p.log.events.length, events);
});

test('the same favorites are listed with another API key of the same user', async () => {
  assert.equal(favoritesIn(await list('', await p.createKey(p.tenant_id, owner))), [BERT]);
});

test('the filter favorite=true lists only favorites, and favorite=false only other agents; both also work with pages and other filters', async () => {
  await favorite('PUT', CARL);
  await p.waitForProjections();
  assert.equal([idsOf(await list('&favorite=true')), idsOf(await list('&favorite=false'))], [[BERT, CARL], [ANNA]]);
  assert.equal(idsOf(await list('&favorite=true&q=bert')), [BERT, CARL]);
  assert.equal(idsOf(await list('&favorite=true&q=carl')), [CARL]);
  assert.equal([idsOf(await list('&favorite=true', member.key)), (await list('&favorite=false', member.key)).length], [[], 3]);
  const first = await p.send('GET', `${p.tenant}/agents?sort=name&favorite=true&limit=1`);
  assert.equal([idsOf(first.body as Json[]), first.headers.get('total-count')], [[BERT], null]);
  const next = /<(.+)>/.exec(first.headers.get('link')!)![1]!;
  assert.equal(idsOf((await p.send('GET', next)).body as Json[]), [CARL]);
  assert.is((await p.send('GET', `${p.tenant}/agents?favorite=yes`)).status, 422);
});

test('the parameter q of the list of agents matches any part of the name or of the slug, in upper or lower case', async () => {
  assert.equal(idsOf(await list('&q=bERt')), [BERT, CARL]);
  assert.equal([idsOf(await list('&q=nna')), idsOf(await list('&q=COND')), idsOf(await list('&q=nobody'))], [[ANNA], [BERT], []]);
  assert.equal(idsOf(await list('&q=%25')), [], 'a percent sign is not a wildcard');
});

test('a text value of an agent that looks like JSON with the field is_favorite does not affect whether the agent is a favorite', async () => {
  const description = '"is_favorite":false}';
  await p.send('PATCH', `${p.tenant}/agents/${CARL}`, { body: { description } });
  await p.waitForProjections();
  const carl = (await list()).find(({ id }) => id === CARL)!;
  assert.equal([carl.description, carl.is_favorite], [description, true]);
});

test('an as-of list of agents shows which agents were favorites at the position of the read', async () => {
  const at = (await favorite('PUT', ANNA)).headers.get('consistency-token')!;
  const removed = await favorite('DELETE', ANNA);
  await p.waitForProjections();
  const asOf = async (token: string) => favoritesIn((await p.send('GET', `${p.tenant}/agents?as_of=${token}`)).body as Json[]).sort();
  assert.equal([await asOf(at), await asOf(removed.headers.get('consistency-token')!)], [[ANNA, BERT, CARL].sort(), [BERT, CARL].sort()]);
});

test('removing an agent from the favorites gets 204; so does removing an agent that is not a favorite, which appends no event', async () => {
  assert.is((await favorite('DELETE', CARL)).status, 204);
  await p.waitForProjections();
  assert.equal(favoritesIn(await list()), [BERT]);
  const events = p.log.events.length;
  assert.is((await favorite('DELETE', CARL)).status, 204);
  assert.is(p.log.events.length, events);
});

test('marking or unmarking an agent as a favorite gets 404 if the agent is missing, deleted, hidden from the caller or in another tenant', async () => {
  const plain = await addMember(p, 'MEMBER');
  const gone = await create('Gone', 'gone');
  await p.send('DELETE', `${p.tenant}/agents/${gone}`);
  const other = await createSecondTenant(p);
  const foreign = (await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'F', slug: 'f' } })).body as Json;
  const favorites = () => p.eventsOf('AgentFavorited', 'AgentUnfavorited').length;
  const events = favorites();
  for (const method of ['PUT', 'DELETE'] as const) {
    for (const id of [gone, `c${'0'.repeat(24)}`, String(foreign.id)]) assert.is((await favorite(method, id)).status, 404, id);
    assert.is((await favorite(method, BERT, plain.key)).status, 404, 'hidden');
  }
  assert.is(favorites(), events);
});

test('the audit log of the tenant has an entry for each added and each removed favorite', async () => {
  await p.waitForProjections();
  const entries = (await p.send('GET', `${p.tenant}/audit-logs?action=agent.*&agent_id=${CARL}`)).body as Json[];
  const summaries = entries.map(({ summary }) => String(summary)).filter((summary) => summary.includes('favorite'));
  assert.match(summaries[0]!, /removed the agent “Carl” from their favorites\.$/);
  assert.match(summaries[1]!, /marked the agent “Carl” as a favorite\.$/);
});

afterLastTest(() => p.close());

test.run();
