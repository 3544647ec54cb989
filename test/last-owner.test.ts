import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inMemory } from './in-memory.ts';
import { join } from './people.ts';

const p = await inMemory();
const OWN = (await p.send('GET', '/me')).body as { user: { id: string } };
const owner = { user_id: OWN.user.id, key: p.key };
let count = 0;

type Somebody = { readonly user_id: string; readonly key: string };

const somebody = (): Promise<Somebody> => join(p, 'MEMBER', p.tenant_id, `m${++count}@example.com`);
const create = ({ key }: Somebody) => p.send('POST', `${p.tenant}/agents`, { key, body: { name: 'Agent', slug: `agent-${++count}` } });
const made = async (by: Somebody): Promise<string> => `${p.tenant}/agents/${((await create(by)).body as { id: string }).id}`;
const remove = ({ user_id }: Somebody) => p.send('DELETE', `${p.tenant}/members/${user_id}`);

const ownersOf = async (agent: string): Promise<string[]> => {
  const roles = (await p.send('GET', `${agent}/roles`)).body as { user_id: string; role: string }[];
  return roles.filter(({ role }) => role === 'OWNER').map(({ user_id }) => user_id);
};

const ROUNDS = 5;

test('of two owners of an agent who are removed at once one stays', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await somebody(), await somebody()];
    const agent = await made(one);
    await p.send('PUT', `${agent}/roles/${two.user_id}`, { key: one.key, body: { role: 'OWNER' } });
    const statuses = (await Promise.all([remove(one), remove(two)])).map(({ status }) => status);
    assert.equal([statuses.sort(), (await ownersOf(agent)).length], [[204, 409], 1]);
  }
});

test('whoever creates an agent while they are removed either stays or creates none', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const one = await somebody();
    const [creation, removal] = await Promise.all([create(one), remove(one)]);
    const told = `${creation.status} ${removal.status}`;
    assert.ok(['201 409', '401 204', '404 204'].includes(told), told);
    if (creation.status === 201) assert.equal(await ownersOf(`${p.tenant}/agents/${(creation.body as { id: string }).id}`), [one.user_id]);
  }
});

test('an agent that is transferred to somebody who is removed has an owner afterwards', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const one = await somebody();
    const agent = await made(owner);
    const transfer = p.send('POST', `${agent}/transfer-ownership`, { body: { new_owner_id: one.user_id } });
    const [transferred, removed] = (await Promise.all([transfer, remove(one)])).map(({ status }) => status);
    assert.equal(await ownersOf(agent), removed === 204 ? [owner.user_id] : [one.user_id], `${transferred} ${removed}`);
  }
});

test('an agent whose owners have all left is owned by the member who brings it back', async () => {
  const one = await somebody();
  const agent = await made(one);
  await p.send('DELETE', agent, { key: one.key });
  assert.is((await remove(one)).status, 204);
  assert.is((await p.send('POST', `${agent}/restore`, { body: {} })).status, 200);
  assert.equal(await ownersOf(agent), [owner.user_id]);
  await p.settled();
  const listed = (await p.send('GET', `${agent}/roles`)).body as { role: string }[];
  assert.equal(
    listed.map(({ role }) => role),
    ['OWNER'],
  );
});

test('an agent that comes back to an owner who is still there keeps that one', async () => {
  const one = await somebody();
  const agent = await made(one);
  await p.send('DELETE', agent, { key: one.key });
  assert.is((await p.send('POST', `${agent}/restore`, { body: {} })).status, 200);
  assert.equal(await ownersOf(agent), [one.user_id]);
});

test.run();
