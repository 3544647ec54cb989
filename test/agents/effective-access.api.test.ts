import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AGENT_ROLES, GRANT_ROLES, LABELS } from '../../domain/agents/role-permissions.ts';
import { tokenOf } from '../../domain/event.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Access = { user_id: string; agent_id: string; tenant_role: string; role: string | null; grant: string | null; labels: string[] };
type Difference = { user_id: string; agent_id: string; gained: string[]; lost: string[] };
type Permissions = { permissions: { label: string; allowed: boolean; decided_by: { event_id: string } | null }[] };

const p = await createTestPlatform();
const { tenant, tenant_id } = p;
const ACCESS = `${tenant}/effective-permissions`;

const get = async <T>(path: string, key = p.key): Promise<T> => {
  const answer = await p.send('GET', path, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as T;
};

const change = async (method: string, path: string, body?: object): Promise<void> => {
  const answer = await p.send(method, path, body ? { body } : {});
  assert.ok(answer.status < 300, answer.text);
};

const allAccess = async (query = ''): Promise<Access[]> => {
  await p.waitForProjections();
  const found: Access[] = [];
  for (let path: string | undefined = `${ACCESS}?limit=7${query}`; path; ) {
    const answer = await p.send('GET', path);
    assert.is(answer.status, 200, answer.text);
    found.push(...(answer.body as Access[]));
    path = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return found;
};

const allowedTo = async ({ user_id, agent_id }: Pick<Access, 'user_id' | 'agent_id'>): Promise<string[]> => {
  const { permissions } = await get<Permissions>(`${tenant}/agents/${agent_id}/effective-permissions?user_id=${user_id}`);
  return permissions.filter(({ allowed }) => allowed).map(({ label }) => label);
};

const members = await Promise.all(
  (['ADMIN', 'MEMBER', 'MEMBER', 'MEMBER', 'AUDITOR'] as const).map((role, index) =>
    addMember(p, role, tenant_id, `member${index}@example.com`),
  ),
);
const agents: string[] = [];
for (const slug of ['one', 'two', 'three'])
  agents.push(((await p.send('POST', `${tenant}/agents`, { body: { name: slug, slug } })).body as { id: string }).id);
const auditor = members[4]!;
const member = members[1]!;

const roles = fc.array(fc.tuple(fc.nat(4), fc.nat(2), fc.constantFrom(...AGENT_ROLES), fc.constantFrom(...GRANT_ROLES)), {
  minLength: 8,
  maxLength: 8,
});

test("for generated roles and grants, each member's permissions on each agent in the access matrix equal the member's effective permissions on that agent", async () => {
  const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
  const [generated] = fc.sample(roles, { numRuns: 1, seed });
  for (const [user, agent, role, grant] of generated!) {
    const path = `${tenant}/agents/${agents[agent]}`;
    await change('PUT', `${path}/roles/${members[user]!.user_id}`, { role });
    await change('POST', `${path}/grants`, { user_id: members[user]!.user_id, role: grant });
  }
  await change('PUT', `${tenant}/agent-role-permissions`, { roles: { VIEWER: ['View', 'Assign work'] } });
  const cells = await allAccess();
  assert.is(cells.length, 6 * 3, 'each member and each agent once');
  assert.is(new Set(cells.map(({ user_id, agent_id }) => `${user_id} ${agent_id}`)).size, cells.length);
  for (const cell of cells) assert.equal(cell.labels, await allowedTo(cell), `seed ${seed}: ${JSON.stringify(cell)}`);
});

test('the access matrix can be limited to one member or one agent; if that member or agent is unknown, the matrix is empty', async () => {
  const cells = await allAccess();
  const { user_id } = member;
  assert.equal(
    await allAccess(`&user_id=${user_id}`),
    cells.filter((cell) => cell.user_id === user_id),
  );
  assert.equal(
    await allAccess(`&agent_id=${agents[0]}`),
    cells.filter((cell) => cell.agent_id === agents[0]),
  );
  const other = await createSecondTenant(p);
  const foreign = (
    (await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'F', slug: 'f' } })).body as { id: string }
  ).id;
  for (const id of [foreign, `c${'0'.repeat(24)}`]) assert.equal(await allAccess(`&agent_id=${id}`), []);
  assert.is((await p.send('GET', `${ACCESS}?cursor=x`)).status, 422);
});

test('if an event gave a member a permission, the access matrix contains the permission as of the position of that event, and not as of the position before', async () => {
  const [agent_id] = agents;
  const { user_id } = members[3]!;
  const path = `${tenant}/agents/${agent_id}/roles/${user_id}`;
  await p.send('DELETE', path);
  await change('DELETE', `${tenant}/agents/${agent_id}/grants/${user_id}`).catch(() => undefined);
  await change('PUT', path, { role: 'MANAGER' });
  const { permissions } = await get<Permissions>(`${tenant}/agents/${agent_id}/effective-permissions?user_id=${user_id}`);
  const decided = permissions.find(({ label }) => label === 'Edit settings')!;
  assert.ok(decided.allowed);
  const index = p.log.events.findIndex(({ event_id }) => event_id === decided.decided_by!.event_id);
  const labelsAt = async (at: number): Promise<string[]> => {
    const as_of = encodeURIComponent(tokenOf(p.log.events[at]!.position));
    return (await allAccess(`&user_id=${user_id}&agent_id=${agent_id}&as_of=${as_of}`))[0]!.labels;
  };
  assert.ok((await labelsAt(index)).includes('Edit settings'));
  assert.not((await labelsAt(index - 1)).includes('Edit settings'));
});

const preview = async (changes: object[], key = p.key) => p.send('POST', `${ACCESS}/preview`, { key, body: changes });

/** Returns the labels that each user gained or lost on each agent between two states of the access matrix. */
const differences = (before: readonly Access[], after: readonly Access[]): Difference[] =>
  before.flatMap(({ user_id, agent_id, labels }) => {
    const next = after.find((cell) => cell.user_id === user_id && cell.agent_id === agent_id)?.labels ?? [];
    const gained = next.filter((label) => !labels.includes(label));
    const lost = labels.filter((label) => !next.includes(label));
    return gained.length + lost.length > 0 ? [{ user_id, agent_id, gained, lost }] : [];
  });

test('a preview of changes to access shows exactly the permissions that the changes would lead to, and appends no event', async () => {
  const [agent_id] = agents;
  const { user_id } = member;
  const path = `${tenant}/agents/${agent_id}`;
  await p.send('DELETE', `${path}/roles/${user_id}`);
  await p.send('DELETE', `${path}/grants/${user_id}`);
  const cases: (readonly [object, () => Promise<void>])[] = [
    [{ user_id, agent_id, role: 'MANAGER' }, () => change('PUT', `${path}/roles/${user_id}`, { role: 'MANAGER' })],
    [{ user_id, agent_id, grant: 'VIEWER' }, () => change('POST', `${path}/grants`, { user_id, role: 'VIEWER' })],
    [{ user_id, agent_id, role: null }, () => change('DELETE', `${path}/roles/${user_id}`)],
    [{ grid: { VIEWER: ['View'] } }, () => change('PUT', `${tenant}/agent-role-permissions`, { roles: { VIEWER: ['View'] } })],
    [{ user_id, tenant_role: 'ADMIN' }, () => change('PATCH', `${tenant}/members/${user_id}`, { role: 'ADMIN' })],
    [{ user_id, tenant_role: 'MEMBER' }, () => change('PATCH', `${tenant}/members/${user_id}`, { role: 'MEMBER' })],
    [{ user_id, agent_id, grant: null }, () => change('DELETE', `${path}/grants/${user_id}`)],
  ];
  for (const [wanted, make] of cases) {
    const before = await allAccess();
    const events = p.log.events.length;
    const answer = await preview([wanted]);
    assert.is(answer.status, 200, answer.text);
    assert.is(p.log.events.length, events, 'a preview appends nothing');
    await make();
    assert.equal(answer.body, differences(before, await allAccess()), JSON.stringify(wanted));
  }
  assert.equal((await preview([])).body, []);
});

test('a preview is refused if the previewed change would be refused, such as removing the last OWNER or giving a role to a user who is not a member', async () => {
  const owner = (await allAccess()).find(({ tenant_role }) => tenant_role === 'OWNER')!.user_id;
  const last = await preview([{ user_id: owner, tenant_role: 'MEMBER' }]);
  assert.is(last.status, 409);
  assert.match(last.text, /last_owner/);
  const stranger = `c${'1'.repeat(24)}`;
  assert.is((await preview([{ user_id: stranger, agent_id: agents[0], role: 'VIEWER' }])).status, 404);
  assert.is((await preview([{ user_id: member.user_id, agent_id: `c${'0'.repeat(24)}`, role: 'VIEWER' }])).status, 404);
  const owned = await preview([{ grid: { OWNER: [LABELS[0]] } }]);
  assert.is(owned.status, 422);
});

test('a preview is refused if one of its changes lacks a required field, and the error points to that change', async () => {
  const { user_id } = member;
  for (const [wanted, pointer] of [
    [{}, '/0'],
    [{ user_id }, '/0'],
    [{ role: 'VIEWER', agent_id: agents[0] }, '/0/user_id'],
    [{ role: 'VIEWER', user_id }, '/0/agent_id'],
    [{ tenant_role: 'ADMIN' }, '/0/user_id'],
    [{ user_id, tenant_role: 'KING' }, '/0/tenant_role'],
    [{ user_id, more: 1 }, '/0'],
  ] as const) {
    const { status, body, text } = await preview([wanted]);
    assert.is(status, 422, text);
    assert.ok((body as { errors: { pointer: string }[] }).errors[0]!.pointer.startsWith(pointer), text);
  }
  assert.is((await preview(Array.from({ length: 101 }, () => ({ user_id, tenant_role: 'MEMBER' })))).status, 422);
});

test('a caller who is not allowed to make a change is not allowed to preview it either', async () => {
  const role = { user_id: member.user_id, agent_id: agents[1], role: 'VIEWER' };
  const tenantRole = { user_id: member.user_id, tenant_role: 'AUDITOR' };
  const grid = { grid: { VIEWER: [] } };
  const statuses = async (key: string) => [
    (await preview([role], key)).status,
    (await preview([tenantRole], key)).status,
    (await preview([grid], key)).status,
  ];
  // Remove the role and the grant on the agent that the first test may have given to this auditor.
  for (const kind of ['roles', 'grants']) await p.send('DELETE', `${tenant}/agents/${agents[1]}/${kind}/${auditor.user_id}`);
  assert.equal(await statuses(auditor.key), [403, 403, 403]);
  assert.equal(await statuses(members[0]!.key), [200, 200, 200]);
  await change('PUT', `${tenant}/agents/${agents[1]}/roles/${members[2]!.user_id}`, { role: 'OWNER' });
  assert.equal(await statuses(members[2]!.key), [200, 403, 403]);
});

test('an AUDITOR can read the access matrix and the effective permissions of other users; for a MEMBER these reads are refused', async () => {
  const { user_id } = members[2]!;
  const path = `${tenant}/agents/${agents[0]}/effective-permissions?user_id=${user_id}`;
  assert.is((await get<Access[]>(`${ACCESS}?agent_id=${agents[0]}`, auditor.key)).length, 6);
  await get(path, auditor.key);
  assert.is((await p.send('GET', ACCESS, { key: member.key })).status, 403);
});

afterLastTest(() => p.close());

test.run();
