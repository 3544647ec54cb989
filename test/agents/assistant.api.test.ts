import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Assistant = { id: string; object: string; created_at: number; name: string; model: string; instructions: string | null };
type List = { object: string; data: Assistant[]; first_id: string | null; last_id: string | null; has_more: boolean };

const p = await createTestPlatform();
const create = async (name: string, key?: string, tenant = p.tenant): Promise<string> => {
  const body = { name, slug: name.toLowerCase(), description: `Is ${name}`, description_prompt: 'Be brief' };
  return ((await p.send('POST', `${tenant}/agents`, { body, ...(key && { key }) })).body as Assistant).id;
};
const IDS: string[] = [];
for (const name of ['A', 'B', 'C', 'D', 'E']) IDS.push(await create(name));
const tenantKey = await p.createKey(p.tenant_id, p.eventsOf('UserRegistered')[0]!.id);
await p.waitForProjections();

const get = (query = '', key: string = tenantKey) => p.send('GET', `/v1/assistants${query}`, { key });
const list = async (query = '', key?: string): Promise<List> => (await get(query, key)).body as List;
const names = ({ data }: List): string => data.map(({ name }) => name).join('');

test('the list of assistants contains the agents, newest first, each with its creation time in Unix seconds and its primary model', async () => {
  const [model] = p.eventsOf('ModelRegistered');
  await p.send('PUT', `${p.tenant}/agents/${IDS[4]}/models`, { body: { model_ids: [model!.id] } });
  await p.waitForProjections();
  const agent = (await p.send('GET', `${p.tenant}/agents/${IDS[4]}`)).body as { created_at: string };
  const found = await list();
  assert.equal(found.data[0], {
    id: IDS[4]!,
    object: 'assistant',
    created_at: Math.floor(Date.parse(agent.created_at) / 1_000),
    name: 'E',
    description: 'Is E',
    model: (model!.data as { name: string }).name,
    instructions: 'Be brief',
    metadata: { tenant_id: p.tenant_id, slug: 'e', kind: 'user' },
  } as never);
  assert.is(found.data[1]!.model, 'default');
  assert.equal([found.object, names(found), found.has_more], ['list', 'EDCBA', false]);
  assert.equal([found.first_id, found.last_id], [IDS[4], IDS[0]]);
});

test('the parameters after and before return the assistants that follow or precede a given assistant, in ascending and in descending order', async () => {
  const page = async (query: string) => {
    const found = await list(query);
    return `${names(found)}${found.has_more ? '+' : ''}`;
  };
  assert.is(await page('?limit=2'), 'ED+');
  assert.is(await page(`?limit=2&after=${IDS[3]}`), 'CB+');
  assert.is(await page(`?limit=2&after=${IDS[1]}`), 'A');
  assert.is(await page(`?limit=2&before=${IDS[0]}`), 'CB+');
  assert.is(await page(`?limit=2&before=${IDS[2]}`), 'ED');
  assert.is(await page('?order=asc&limit=3'), 'ABC+');
  assert.is(await page(`?order=asc&limit=3&after=${IDS[2]}`), 'DE');
  assert.is(await page(`?order=asc&limit=1&before=${IDS[2]}`), 'B+');
  assert.is(await page(`?after=${IDS[4]}&before=${IDS[0]}`), 'DCB');
  assert.is(await page(`?limit=2&after=${IDS[4]}&before=${IDS[0]}`), 'DC+');
  assert.is(await page(`?after=${IDS[0]}`), '');
});

test('on an empty page of assistants, the fields first_id and last_id of the page are null', async () => {
  const { data, first_id, last_id, has_more } = await list(`?after=${IDS[0]}`);
  assert.equal([data, first_id, last_id, has_more], [[], null, null, false]);
});

test('the list of assistants is refused with a limit outside 1 to 100 or an unknown parameter, order or assistant', async () => {
  const statuses = async (...queries: string[]) => Promise.all(queries.map(async (query) => (await get(query)).status));
  assert.equal(await statuses('?limit=1', '?limit=100'), [200, 200]);
  assert.equal(
    await statuses('?limit=0', '?limit=101', '?order=up', '?sort=name', '?after=x', `?before=c${'0'.repeat(24)}`),
    Array(6).fill(422),
  );
});

test('the list of assistants contains only agents that the member may read; the parameter `after` does not reveal whether another agent exists', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  assert.is(names(await list('', key)), '');
  await p.send('PUT', `${p.tenant}/agents/${IDS[1]}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  assert.is(names(await list('', key)), 'B');
  assert.equal([(await get(`?after=${IDS[1]}`, key)).status, (await get(`?after=${IDS[0]}`, key)).status], [200, 422]);
});

test("with a key that is not bound to a tenant, the list of assistants contains the agents of all tenants of the key's user in one common order", async () => {
  const second = await createSecondTenant(p);
  const other = await create('Z', second.key, second.tenant);
  await p.waitForProjections();
  assert.not.ok(
    (await list()).data.some(({ id }) => id === other),
    'the key of one tenant shows no agents of the other',
  );
  assert.is(names(await list('', p.key)), 'EDCBA', 'its user is not a member of the second tenant');
  await p.send('POST', `${second.tenant}/members`, { body: { email: 'admin@annals.localhost', role: 'ADMIN' }, key: second.key });
  await p.waitForProjections();
  assert.is(names(await list('', p.key)), 'ZEDCBA');
  assert.is(names(await list(`?limit=2&after=${other}`, p.key)), 'ED');
  assert.is(names(await list(`?limit=2&before=${IDS[3]}`, p.key)), 'ZE');
});

test('the list of assistants does not contain agents of a suspended tenant, even if the user has a role on them', async () => {
  const { id, tenant, key } = await createSecondTenant(p, 'suspended');
  const agent = await create('Y', key, tenant);
  await p.send('POST', `${tenant}/members`, { body: { email: 'admin@annals.localhost', role: 'MEMBER' }, key });
  await p.send('PUT', `${tenant}/agents/${agent}/roles/${p.eventsOf('UserRegistered')[0]!.id}`, { body: { role: 'VIEWER' }, key });
  await p.waitForProjections();
  assert.ok((await list('', p.key)).data.some(({ name }) => name === 'Y'));
  assert.is((await p.send('POST', `/admin/tenants/${id}/suspend`, { body: { reason: 'Unpaid' } })).status, 200);
  assert.not.ok((await list('', p.key)).data.some(({ name }) => name === 'Y'));
});

test('a request for the list of assistants gets 403 with a runner key, and 401 without a credential', async () => {
  const made = (await p.send('POST', `${p.tenant}/agents/${IDS[0]}/runner-keys`, { body: { name: 'r' } })).body as { key: string };
  assert.equal([(await get('', made.key)).status, (await get('', '')).status], [403, 401]);
});

test.run();
