import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { fold } from '../../domain/aggregate.ts';
import type { Recorded } from '../../domain/event.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Assignment = { user_id: string; role: string; created_at: string; updated_at?: string };

/**
 * Creates a member with a role and a grant on an agent, and then removes the member. The returned function `rejoin`
 * adds the same user again and returns the time when the new membership began.
 */
const removedMember = async () => {
  const p = await createTestPlatform();
  let tick = Date.now();
  p.clock.now = () => ++tick;
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).headers.get('location')!;
  const { user_id } = await addMember(p, 'MEMBER');
  const assign = (role: string) => p.send('PUT', `${agent}/roles/${user_id}`, { body: { role } });
  const grant = (role: string) => p.send('POST', `${agent}/grants`, { body: { user_id, role } });
  assert.equal([(await assign('MANAGER')).status, (await grant('VIEWER')).status, (await grant('EDITOR')).status], [200, 201, 200]);
  const history = (await p.send('GET', `${agent}/history?limit=1`)).body as { position: string }[];
  assert.is((await p.send('DELETE', `${p.tenant}/members/${user_id}`)).status, 204);
  const paths = { roles: `${agent}/roles/${user_id}`, grants: `${agent}/grants/${user_id}` };
  const rejoin = async () =>
    ((await p.send('POST', `${p.tenant}/members`, { body: { email: 'member@example.com' } })).body as Assignment).created_at;
  const of = async (list: 'roles' | 'grants', query = '') =>
    ((await p.send('GET', `${agent}/${list}${query}`)).body as Assignment[]).find((assignment) => assignment.user_id === user_id);
  return { p, agent, user_id, assign, grant, paths, rejoin, of, before: history[0]!.position };
};

const assignmentOf = ({ body }: Answer): Assignment => body as Assignment;

test('revoking a role or grant that a user had before leaving the tenant is refused, both before and after the user rejoins the tenant', async () => {
  const { p, agent, user_id, paths, rejoin, of } = await removedMember();
  const revoke = async () => [(await p.send('DELETE', paths.roles)).status, (await p.send('DELETE', paths.grants)).status];
  const revokeByRequest = () =>
    p.send('PUT', `${p.tenant}/agent-grants`, { body: { user_id, agent_id: agent.split('/').at(-1), role: null } });
  const events = p.eventsOf('AgentRoleRevoked', 'AgentAccessRevoked').length;
  assert.equal([await revoke(), (await revokeByRequest()).status], [[404, 404], 404]);
  await rejoin();
  assert.equal([await of('roles'), await of('grants')], [undefined, undefined]);
  assert.equal([await revoke(), (await revokeByRequest()).status], [[404, 404], 404]);
  assert.is(p.eventsOf('AgentRoleRevoked', 'AgentAccessRevoked').length, events);
  await p.close();
});

test('granting access to a user who already has a grant updates that grant and gets 200, even within the same millisecond', async () => {
  const p = await createTestPlatform();
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).headers.get('location')!;
  const { user_id } = await addMember(p, 'MEMBER');
  const now = Date.now();
  p.clock.now = () => now;
  const grant = (role: string) => p.send('POST', `${agent}/grants`, { body: { user_id, role } });
  assert.equal([(await grant('VIEWER')).status, (await grant('VIEWER')).status, (await grant('EDITOR')).status], [201, 200, 200]);
  const repeated = async (key: string, user_id: string) => {
    const sent = { body: { user_id, role: 'VIEWER' }, headers: { 'idempotency-key': key } };
    return [(await p.send('POST', `${agent}/grants`, sent)).status, (await p.send('POST', `${agent}/grants`, sent)).status];
  };
  const other = await addMember(p, 'MEMBER', p.tenant_id, 'other@example.com');
  assert.equal(
    [await repeated('new', other.user_id), await repeated('known', user_id)],
    [
      [201, 201],
      [200, 200],
    ],
  );
  await p.close();
});

for (const [role, granted] of [
  ['MANAGER', 'EDITOR'],
  ['VIEWER', 'VIEWER'],
] as const)
  test(`a member who rejoins and gets role ${role} and grant ${granted} has new dates for both`, async () => {
    const { p, agent, user_id, assign, grant, paths, rejoin, of, before } = await removedMember();
    const since = await rejoin();
    const assigned = assignmentOf(await assign(role));
    assert.ok(assigned.created_at > since, 'the role has a date of the new membership');
    assert.is(assigned.created_at, assigned.updated_at);
    const first = await grant(granted);
    assert.equal([first.status, first.headers.get('location')], [201, paths.grants]);
    assert.ok(assignmentOf(first).created_at > since, 'the grant has a date of the new membership');
    const again = await grant(granted === 'VIEWER' ? 'EDITOR' : 'VIEWER');
    assert.equal([again.status, assignmentOf(again).created_at], [200, assignmentOf(first).created_at]);
    assert.equal(
      [(await of('roles'))?.created_at, (await of('grants'))?.created_at],
      [assigned.created_at, assignmentOf(first).created_at],
    );

    const id = agent.split('/').at(-1)!;
    const events = p.log.events.filter((event) => event.category === 'agent' && event.id === id) as Recorded<Agent.AgentEvent>[];
    const folded = fold(Agent, events);
    await p.waitForProjections();
    assert.equal(p.unappliedEvents(), []);
    const rows = [...p.foldedRows('agents', 'agent_access').values()].map(({ row }) => row).filter((row) => row.user_id === user_id);
    assert.equal(Object.fromEntries(rows.map((row) => [row.kind, row.given])), {
      role: folded.roles[user_id]?.since,
      grant: folded.grants[user_id]?.since,
    });
    const past = await p.send('GET', `${agent}/grants?as_of=${before}`);
    assert.ok(
      (past.body as Assignment[]).find((assignment) => assignment.user_id === user_id)!.created_at < since,
      'an as-of read shows the earlier grant',
    );
    const { body } = await p.send('GET', `${agent}/history?limit=200`);
    const types = (body as { type: string; changes: { pointer: string }[] }[]).reverse().map(({ type }) => type);
    assert.equal(types.slice(-5), [
      'AgentRoleRevoked',
      'AgentRoleAssigned',
      'AgentAccessRevoked',
      'AgentAccessGranted',
      'AgentAccessGranted',
    ]);
    assert.equal([(await p.send('DELETE', paths.roles)).status, (await p.send('DELETE', paths.grants)).status], [204, 204]);
    await p.close();
  });

test.run();
