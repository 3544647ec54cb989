import * as assert from 'uvu/assert';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { startSecondPlatform } from '../fixtures/second-platform.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createTestPlatform();
const ME = (await p.send('GET', '/me')).body as { user: { id: string } };
const owner = { user_id: ME.user.id, key: p.key };
let count = 0;

type NewMember = { readonly user_id: string; readonly key: string };

const newMember = (): Promise<NewMember> => addMember(p, 'MEMBER', p.tenant_id, `m${++count}@example.com`);
const postAgent = ({ key }: NewMember) => p.send('POST', `${p.tenant}/agents`, { key, body: { name: 'Agent', slug: `agent-${++count}` } });
const createAgent = async (by: NewMember): Promise<string> => `${p.tenant}/agents/${((await postAgent(by)).body as { id: string }).id}`;
const removeMember = ({ user_id }: NewMember) => p.send('DELETE', `${p.tenant}/members/${user_id}`);

const ownersOf = async (agent: string): Promise<string[]> => {
  const roles = (await p.send('GET', `${agent}/roles`)).body as { user_id: string; role: string }[];
  return roles.filter(({ role }) => role === 'OWNER').map(({ user_id }) => user_id);
};

const ROUNDS = 5;

test('if the two owners of an agent are removed from the tenant at the same time, one removal succeeds and the other one is refused', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await newMember(), await newMember()];
    const agent = await createAgent(one);
    await p.send('PUT', `${agent}/roles/${two.user_id}`, { key: one.key, body: { role: 'OWNER' } });
    const statuses = (await Promise.all([removeMember(one), removeMember(two)])).map(({ status }) => status);
    assert.equal([statuses.sort(), (await ownersOf(agent)).length], [[204, 409], 1]);
  }
});

test('if a member creates an agent while being removed from the tenant, the agent is afterwards owned by the member or by the OWNER of the tenant', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const one = await newMember();
    const [creation, removal] = await Promise.all([postAgent(one), removeMember(one)]);
    const statuses = `${creation.status} ${removal.status}`;
    assert.ok(['201 204', '201 409', '401 204', '404 204'].includes(statuses), statuses);
    if (creation.status !== 201) continue;
    const owners = await ownersOf(`${p.tenant}/agents/${(creation.body as { id: string }).id}`);
    assert.equal(owners, [removal.status === 204 ? owner.user_id : one.user_id], statuses);
  }
});

test('if an agent is transferred to a member while that member is being removed from the tenant, the agent has an owner afterwards', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const one = await newMember();
    const agent = await createAgent(owner);
    const transfer = p.send('POST', `${agent}/transfer-ownership`, { body: { new_owner_id: one.user_id } });
    const [transferred, removed] = (await Promise.all([transfer, removeMember(one)])).map(({ status }) => status);
    assert.equal(await ownersOf(agent), removed === 204 ? [owner.user_id] : [one.user_id], `${transferred} ${removed}`);
  }
});

test('if all owners of a deleted agent have left the tenant, the member who restores the agent becomes its owner', async () => {
  const one = await newMember();
  const agent = await createAgent(one);
  await p.send('DELETE', agent, { key: one.key });
  assert.is((await removeMember(one)).status, 204);
  assert.is((await p.send('POST', `${agent}/restore`, { body: {} })).status, 200);
  assert.equal(await ownersOf(agent), [owner.user_id]);
  await p.waitForProjections();
  const listed = (await p.send('GET', `${agent}/roles`)).body as { role: string }[];
  assert.equal(
    listed.map(({ role }) => role),
    ['OWNER'],
  );
});

test('if the owner of a deleted agent is still a member of the tenant, they own the agent after another member restores it', async () => {
  const one = await newMember();
  const agent = await createAgent(one);
  await p.send('DELETE', agent, { key: one.key });
  assert.is((await p.send('POST', `${agent}/restore`, { body: {} })).status, 200);
  assert.equal(await ownersOf(agent), [one.user_id]);
});

/**
 * Simulates another process that makes a decision but pauses before it appends the event. During the pause, the process
 * sees no new events. The promise `decided` resolves when the decision is made; calling `proceed` ends the pause.
 */
const pausedProcess = async () => {
  const [decided, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const append: Log['append'] = async (stream, ...rest) => {
    if (stream.startsWith('agent-')) {
      decided.resolve();
      await gate.promise;
    }
    return p.log.append(stream, ...rest);
  };
  return { ...(await startSecondPlatform(p, { ...p.log, append })), decided: decided.promise, proceed: gate.resolve };
};

type Race = { readonly agent: string; readonly one: NewMember; readonly two: NewMember };
type RaceScenario = {
  readonly what: string;
  readonly before?: (race: Race) => Promise<unknown>;
  readonly request: (race: Race) => RequestLine;
};
type RequestLine = readonly [method: string, path: string, body?: object];

const makeOwner = ({ agent, one }: Race, { user_id }: NewMember) =>
  p.send('PUT', `${agent}/roles/${user_id}`, { key: one.key, body: { role: 'OWNER' } });

const RACES: readonly RaceScenario[] = [
  {
    what: 'a member is removed from the tenant while another process transfers an agent to that member',
    before: async ({ agent, one }) =>
      p.send('POST', `${agent}/transfer-ownership`, { key: one.key, body: { new_owner_id: owner.user_id } }),
    request: ({ agent, one }) => ['POST', `${agent}/transfer-ownership`, { new_owner_id: one.user_id }],
  },
  {
    what: 'an owner of an agent is removed from the tenant while another process revokes the OWNER role of the only other owner',
    before: (race) => makeOwner(race, race.two),
    request: ({ agent, two }) => ['DELETE', `${agent}/roles/${two.user_id}`],
  },
  {
    what: 'an owner of an agent is removed from the tenant while another process makes the only other owner a MANAGER',
    before: (race) => makeOwner(race, race.two),
    request: ({ agent, two }) => ['PUT', `${agent}/roles/${two.user_id}`, { role: 'MANAGER' }],
  },
  {
    what: 'the owner of a deleted agent is removed from the tenant while another process restores the agent',
    before: ({ agent }) => p.send('DELETE', agent),
    request: ({ agent }) => ['POST', `${agent}/restore`, {}],
  },
];

for (const { what, before, request } of RACES)
  test(`if ${what}, the agent is owned by the OWNER of the tenant afterwards`, async () => {
    const other = await pausedProcess();
    const [one, two] = [await newMember(), await newMember()];
    const agent = await createAgent(one);
    await before?.({ agent, one, two });
    await p.waitForProjections();
    const [method, path, body] = request({ agent, one, two });
    const given = other.send(method, path, p.key, body);
    await other.decided;
    assert.is((await removeMember(one)).status, 204);
    other.proceed();
    assert.ok((await given).ok, String((await given).status));
    assert.equal(await ownersOf(agent), [owner.user_id]);
    const listed = (await (await other.send('GET', `${agent}/roles`, p.key)).json()) as { user_id: string; role: string }[];
    assert.equal(
      listed.filter(({ role }) => role === 'OWNER').map(({ user_id }) => user_id),
      [owner.user_id],
    );
    await other.close();
  });

test('if the two owners of an agent are removed through two API processes at the same time, one removal succeeds and the other one is refused', async () => {
  const other = await startSecondPlatform(p);
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await newMember(), await newMember()];
    const agent = await createAgent(one);
    await makeOwner({ agent, one, two }, two);
    const removals = [removeMember(one), other.send('DELETE', `${p.tenant}/members/${two.user_id}`, p.key)];
    assert.equal((await Promise.all(removals)).map(({ status }) => status).sort(), [204, 409]);
    assert.is((await ownersOf(agent)).length, 1);
  }
  await other.close();
});

test.run();
