import * as assert from 'uvu/assert';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { startSecondPlatform } from '../fixtures/second-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createInMemoryPlatform();
const OWN = (await p.send('GET', '/me')).body as { user: { id: string } };
const owner = { user_id: OWN.user.id, key: p.key };
let count = 0;

type Somebody = { readonly user_id: string; readonly key: string };

const somebody = (): Promise<Somebody> => addMember(p, 'MEMBER', p.tenant_id, `m${++count}@example.com`);
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

test('an agent that somebody creates while they are removed is theirs, or the tenant OWNER’s', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const one = await somebody();
    const [creation, removal] = await Promise.all([create(one), remove(one)]);
    const told = `${creation.status} ${removal.status}`;
    assert.ok(['201 204', '201 409', '401 204', '404 204'].includes(told), told);
    if (creation.status !== 201) continue;
    const owners = await ownersOf(`${p.tenant}/agents/${(creation.body as { id: string }).id}`);
    assert.equal(owners, [removal.status === 204 ? owner.user_id : one.user_id], told);
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
  await p.waitForProjections();
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

/** Another process that has `decided` about an agent, and writes it only when it may `goOn`: what is done here meanwhile it does not know. */
const crossing = async () => {
  const [decided, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const append: Log['append'] = async (stream, ...rest) => {
    if (stream.startsWith('agent-')) {
      decided.resolve();
      await gate.promise;
    }
    return p.log.append(stream, ...rest);
  };
  return { ...(await startSecondPlatform(p, { ...p.log, append })), decided: decided.promise, goOn: gate.resolve };
};

type Crossed = { readonly agent: string; readonly one: Somebody; readonly two: Somebody };
type Crossing = {
  readonly what: string;
  readonly before?: (crossed: Crossed) => Promise<unknown>;
  readonly asked: (crossed: Crossed) => Asked;
};
type Asked = readonly [method: string, path: string, body?: object];

const owns = ({ agent, one }: Crossed, { user_id }: Somebody) =>
  p.send('PUT', `${agent}/roles/${user_id}`, { key: one.key, body: { role: 'OWNER' } });

const CROSSINGS: readonly Crossing[] = [
  {
    what: 'transferred to them',
    before: async ({ agent, one }) =>
      p.send('POST', `${agent}/transfer-ownership`, { key: one.key, body: { new_owner_id: owner.user_id } }),
    asked: ({ agent, one }) => ['POST', `${agent}/transfer-ownership`, { new_owner_id: one.user_id }],
  },
  {
    what: 'taken from its other owner',
    before: (crossed) => owns(crossed, crossed.two),
    asked: ({ agent, two }) => ['DELETE', `${agent}/roles/${two.user_id}`],
  },
  {
    what: 'managed by its other owner from then on',
    before: (crossed) => owns(crossed, crossed.two),
    asked: ({ agent, two }) => ['PUT', `${agent}/roles/${two.user_id}`, { role: 'MANAGER' }],
  },
  {
    what: 'brought back',
    before: ({ agent }) => p.send('DELETE', agent),
    asked: ({ agent }) => ['POST', `${agent}/restore`, {}],
  },
];

for (const { what, before, asked } of CROSSINGS)
  test(`an agent that is ${what} at one process, while another removes them, is the tenant OWNER’s`, async () => {
    const there = await crossing();
    const [one, two] = [await somebody(), await somebody()];
    const agent = await made(one);
    await before?.({ agent, one, two });
    await p.waitForProjections();
    const [method, path, body] = asked({ agent, one, two });
    const given = there.send(method, path, p.key, body);
    await there.decided;
    assert.is((await remove(one)).status, 204);
    there.goOn();
    assert.ok((await given).ok, String((await given).status));
    assert.equal(await ownersOf(agent), [owner.user_id]);
    const listed = (await (await there.send('GET', `${agent}/roles`, p.key)).json()) as { user_id: string; role: string }[];
    assert.equal(
      listed.filter(({ role }) => role === 'OWNER').map(({ user_id }) => user_id),
      [owner.user_id],
    );
    await there.close();
  });

test('of two owners of an agent who are removed at two processes at once one stays', async () => {
  const there = await startSecondPlatform(p);
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await somebody(), await somebody()];
    const agent = await made(one);
    await owns({ agent, one, two }, two);
    const removals = [remove(one), there.send('DELETE', `${p.tenant}/members/${two.user_id}`, p.key)];
    assert.equal((await Promise.all(removals)).map(({ status }) => status).sort(), [204, 409]);
    assert.is((await ownersOf(agent)).length, 1);
  }
  await there.close();
});

test.run();
