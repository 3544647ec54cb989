import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { replaceConfig } from '../../domain/skills/agent-skills.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Change = { pointer: string; from: unknown; to: unknown };
type Entry = { type: string; changes: Change[]; actor: { id: string }; revision: number };

const p = await createTestPlatform();
const tokenOf = ({ headers }: Answer): string => headers.get('consistency-token')!;
const historyOf = async (path: string, key = p.key): Promise<Entry[]> =>
  (await p.send('GET', `${path}/history?limit=200`, { key })).body as Entry[];
const diffOf = async (path: string, query: string): Promise<Change[]> => {
  const answer = await p.send('GET', `${path}/diff?${query}`);
  assert.is(answer.status, 200, answer.text);
  return (answer.body as { changes: Change[] }).changes.filter(({ pointer }) => pointer !== '/updated_at');
};
const ok = (answer: Answer): Answer => {
  assert.ok(answer.status < 300, answer.text);
  return answer;
};

const start = Date.now();
/** Sets the platform's clock to this number of seconds after the start of the tests. */
const setTime = (seconds: number): void => {
  p.clock.now = () => start + seconds * 1_000;
};
const time = (seconds: number): string => new Date(start + seconds * 1_000).toISOString();

test('the history of a model shows its changes and for which tenants it was opened; a diff accepts times and consistency tokens', async () => {
  setTime(10);
  const body = { provider: 'p', slug: 'one', name: 'One', config: { url: 'x' }, available_to_all_tenants: false };
  const created = ok(await p.send('POST', '/admin/models', { body }));
  const path = `/admin/models/${(created.body as { id: string }).id}`;
  setTime(20);
  const renamed = ok(await p.send('PATCH', path, { body: { name: 'Two', config: { url: 'y' }, status: 'deprecated' } }));
  setTime(30);
  ok(await p.send('PUT', `${path}/tenants/${p.tenant_id}`));
  setTime(40);
  ok(await p.send('DELETE', `${path}/tenants/${p.tenant_id}`));
  const history = await historyOf(path);
  assert.equal(
    history.map(({ type, changes }) => [type, changes.slice(0, 2)]),
    [
      ['ModelClosedToTenant', [{ pointer: `/open_to/${p.tenant_id}`, from: time(30), to: null }]],
      ['ModelOpenedToTenant', [{ pointer: `/open_to/${p.tenant_id}`, from: null, to: time(30) }]],
      ['ModelStatusChanged', [{ pointer: '/status', from: 'active', to: 'deprecated' }]],
      [
        'ModelUpdated',
        [
          { pointer: '/name', from: 'One', to: 'Two' },
          { pointer: '/config', from: { url: 'x' }, to: { url: 'y' } },
        ],
      ],
      ['ModelRegistered', history.at(-1)!.changes.slice(0, 2)],
    ],
  );
  const expected = ['/name', '/status', '/config'];
  for (const query of [`from=${tokenOf(created)}&to=${tokenOf(renamed)}`, `from=${time(15)}&to=${time(25)}`]) {
    const changes = await diffOf(path, query);
    assert.equal(
      changes.map(({ pointer }) => pointer),
      expected,
      query,
    );
  }
  assert.equal(await diffOf(path, `from=${time(15)}`), await diffOf(path, `from=${tokenOf(created)}`));
  assert.equal((await diffOf(path, `from=${time(15)}&to=${time(35)}`)).at(-1), {
    pointer: `/open_to/${p.tenant_id}`,
    from: null,
    to: time(30),
  });
  setTime(50);
});

test('only platform credentials can read the history of a model; reading the history of an unknown model gets 404', async () => {
  const { key } = await addMember(p, 'OWNER', p.tenant_id, 'other.owner@example.com');
  const [model] = (await p.send('GET', '/admin/models')).body as { id: string }[];
  for (const part of ['history', 'diff?from=0:0']) {
    assert.is((await p.send('GET', `/admin/models/${model!.id}/${part}`, { key })).status, 403);
    assert.is((await p.send('GET', `/admin/models/c${'0'.repeat(24)}/${part}`)).status, 404);
  }
});

test('the history of a tenant shows changes of settings, members, role permissions and invitations, but not the digest of any invitation', async () => {
  const { user_id, key } = await addMember(p, 'MEMBER');
  const before = ok(await p.send('PATCH', p.tenant, { body: { billing_email: 'one@example.com' } }));
  ok(await p.send('PATCH', p.tenant, { body: { billing_email: null, allow_superadmin_access: false } }));
  ok(await p.send('PATCH', `${p.tenant}/members/${user_id}`, { body: { role: 'AUDITOR' } }));
  ok(await p.send('POST', `${p.tenant}/members/${user_id}/invitation`));
  ok(await p.send('PUT', `${p.tenant}/agent-role-permissions`, { body: { roles: { VIEWER: ['View'] } } }));
  const [grid, invited, role, settings] = await historyOf(p.tenant, key);
  assert.equal(grid!.changes, [{ pointer: '/role_permissions/VIEWER', from: ['View', 'Chat (read-only)'], to: ['View'] }]);
  assert.equal(
    invited!.changes.map(({ pointer, from, to }) => [pointer, from, Object.keys(to as object)]),
    [[`/invitations/${user_id}`, null, ['expires_at', 'accepted']]],
  );
  assert.equal(role!.changes, [{ pointer: `/members/${user_id}`, from: 'MEMBER', to: 'AUDITOR' }]);
  assert.equal(settings!.changes, [
    { pointer: '/billing_email', from: 'one@example.com', to: null },
    { pointer: '/allow_superadmin_access', from: true, to: false },
  ]);
  const { digest } = p.eventsOf('MemberInvitationIssued').at(-1)!.data as { digest: string };
  assert.not.match((await p.send('GET', `${p.tenant}/history`)).text, digest);
  const changes = await diffOf(p.tenant, `from=${tokenOf(before)}`);
  assert.equal(changes.map(({ pointer }) => pointer).sort(), [
    '/allow_superadmin_access',
    '/billing_email',
    `/invitations/${user_id}`,
    `/members/${user_id}`,
    '/role_permissions/VIEWER',
  ]);
});

test('a member sees the history of a public skill, but not the contents that the skill had while it was private', async () => {
  const { key } = await addMember(p, 'MEMBER', p.tenant_id, 'reads.skills@example.com');
  const body = { name: 'Skill', slug: 'skill', description: 'd', instructions: 'secret draft' };
  const created = ok(await p.send('POST', `${p.tenant}/skills`, { body }));
  const path = `${p.tenant}/skills/${(created.body as { id: string }).id}`;
  assert.is((await p.send('GET', `${path}/history`, { key })).status, 404);
  assert.is((await p.send('GET', `${path}/diff?from=0:0`, { key })).status, 404);
  ok(await p.send('PATCH', path, { body: { instructions: 'another draft' } }));
  ok(await p.send('PATCH', path, { body: { instructions: 'for all', visibility: 'public' } }));
  ok(await p.send('PATCH', path, { body: { instructions: 'for everybody' } }));
  const [last, published, ...before] = await historyOf(path, key);
  assert.equal(last!.changes.slice(0, 1), [{ pointer: '/instructions', from: 'for all', to: 'for everybody' }]);
  assert.ok(published!.changes.some(({ pointer, from, to }) => pointer === '/instructions' && from === null && to === 'for all'));
  assert.equal(
    before.map(({ changes }) => changes),
    [[], []],
  );
  assert.not.match((await p.send('GET', `${path}/diff?from=${tokenOf(created)}`, { key })).text, 'draft');
  const own = await historyOf(path);
  assert.ok(own[1]!.changes.some(({ pointer, from, to }) => pointer === '/instructions' && from === 'another draft' && to === 'for all'));
  ok(await p.send('DELETE', path));
  assert.equal((await historyOf(path))[0]!.changes, [{ pointer: '/deleted', from: false, to: true }]);
  assert.is((await p.send('GET', `${path}/history`, { key })).status, 404);
});

test("if the configuration of an agent's skill changes, the agent's history shows that it changed, but not the configuration", async () => {
  const skill = { name: 'Other', slug: 'other', description: 'd', instructions: 'i' };
  const { id: skill_id } = ok(await p.send('POST', `${p.tenant}/skills`, { body: skill })).body as { id: string };
  const { id } = ok(await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string };
  const path = `${p.tenant}/agents/${id}`;
  ok(await p.send('POST', `${path}/skills`, { body: { skill_id } }));
  await p.systemContext(p.tenant_id).transact(Agent, id, replaceConfig(skill_id, 'v1.ciphertext'));
  const history = await historyOf(path);
  assert.equal(
    history.slice(0, 2).map(({ changes }) => changes),
    [
      [{ pointer: `/skill_configs/${skill_id}`, from: null, to: '***' }],
      [{ pointer: `/skills/${skill_id}`, from: null, to: { is_enabled: true } }],
    ],
  );
  assert.not.match((await p.send('GET', `${path}/history`)).text, 'ciphertext');
  ok(await p.send('DELETE', `${path}/skills/${skill_id}`));
  assert.equal(
    (await historyOf(path))[0]!.changes.map(({ pointer, to }) => [pointer, to]),
    [
      [`/skills/${skill_id}`, null],
      [`/skill_configs/${skill_id}`, null],
    ],
  );
});

test("the history of a connector's tool shows, in order, the changes of the tool itself and those made by syncs of the connector", async () => {
  const tools = `${p.tenant}/connectors/mailer/tools`;
  const send = { name: 'send', display_name: 'Send', description: 'd', description_long: 'l' };
  const other = { ...send, name: 'other' };
  const sync = async (...body: object[]) => ok(await p.send('PUT', tools, { body }));
  const synced = await sync(send, other);
  const path = `${p.tenant}/tools/${(synced.body as { id: string }[])[0]!.id}`;
  await sync(send, { ...other, display_name: 'Not this one' });
  ok(await p.send('PATCH', path, { body: { input_schema: { type: 'object' } } }));
  await sync({ ...send, display_name: 'Send it' }, other);
  await sync(other);
  const history = await historyOf(path);
  assert.equal(
    history.slice(0, 3).map(({ type, changes }) => [type, changes]),
    [
      ['ConnectorToolsSynced', [{ pointer: '/deleted', from: false, to: true }]],
      ['ConnectorToolsSynced', [{ pointer: '/display_name', from: 'Send', to: 'Send it' }]],
      ['ToolUpdated', [{ pointer: '/input_schema', from: {}, to: { type: 'object' } }]],
    ],
  );
  assert.equal(
    history.slice(3).map(({ type }) => type),
    ['ConnectorToolsSynced', 'ToolReserved'],
  );
  const pages: string[] = [];
  for (let next: string | undefined = `${path}/history?limit=2`; next; ) {
    const answer = ok(await p.send('GET', next));
    pages.push(...(answer.body as { event_id: string }[]).map(({ event_id }) => event_id));
    next = /<(.+)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.equal(pages.length, 5);
  assert.is(new Set(pages).size, 5);
  const diff = await diffOf(path, `from=${tokenOf(synced)}`);
  assert.equal(diff.map(({ pointer }) => pointer).sort(), ['/deleted', '/display_name', '/input_schema']);
});

test('the history of a tool of the tenant shows its changes and its removal', async () => {
  const body = { name: 'own', display_name: 'Own', description: 'd' };
  const created = ok(await p.send('POST', `${p.tenant}/tools`, { body }));
  const path = `${p.tenant}/tools/${(created.body as { id: string }).id}`;
  ok(await p.send('PATCH', path, { body: { display_name: 'Mine' } }));
  ok(await p.send('DELETE', path));
  assert.equal(
    (await historyOf(path)).slice(0, 2).map(({ changes }) => changes),
    [[{ pointer: '/deleted', from: false, to: true }], [{ pointer: '/display_name', from: 'Own', to: 'Mine' }]],
  );
  assert.is((await p.send('GET', `${p.tenant}/tools/c${'0'.repeat(24)}/history`)).status, 404);
});

test("the history of a tenant shows members who leave and break-glass requests; its last page ends with the tenant's first event", async () => {
  const other = (await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'o@example.com' } })).body as {
    id: string;
    owner_key: string;
  };
  const path = `/tenant/${other.id}`;
  const { user_id } = await addMember(p, 'MEMBER', other.id, 'leaves@example.com');
  ok(await p.send('DELETE', `${path}/members/${user_id}`, { key: other.owner_key }));
  ok(await p.send('POST', `/admin${path.replace('tenant', 'tenants')}/break-glass`, { body: { reason: 'a test', minutes: 5 } }));
  const types: string[] = [];
  for (let next: string | undefined = `${path}/history?limit=2`; next; ) {
    const answer = ok(await p.send('GET', next, { key: other.owner_key }));
    const entries = answer.body as Entry[];
    if (types.length === 0) assert.match(entries[0]!.changes[0]!.pointer, /^\/super_admin_access\/c/);
    types.push(...entries.map(({ type }) => type));
    assert.is(answer.headers.get('total-count'), '5');
    next = /<(.+)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.equal(types, ['SuperAdminAccessOpened', 'MemberRemoved', 'MemberAdded', 'MemberAdded', 'TenantCreated']);
});

const MEMBERS = 500;

test('in the history of a tenant with 500 members, each entry contains only the member that was changed', async () => {
  const { id, tenant, key } = await createSecondTenant(p, 'large');
  const user_id = (index: number): string => `c${String(index).padStart(24, '0')}`;
  const added = Array.from({ length: MEMBERS }, (_, index) => ({
    type: 'MemberAdded' as const,
    data: { user_id: user_id(index), role: 'MEMBER' as const },
  }));
  await p.systemContext(id).transact(Tenant, id, () => added);
  await p.waitForProjections();
  const startedAt = performance.now();
  const history = await historyOf(tenant, key);
  assert.equal(
    history.map(({ changes }) => changes),
    Array.from({ length: 200 }, (_, index) => [{ pointer: `/members/${user_id(MEMBERS - 1 - index)}`, from: null, to: 'MEMBER' }]),
  );
  assert.ok(performance.now() - startedAt < 700 * loadFactor(), `${performance.now() - startedAt} ms`);
});

test('a history names the members who changed the resource, but not a super-admin who never was a member of the tenant', async () => {
  type Named = { type: string; actor: { id: string; name: string | null; email: string | null } };
  const namesIn = async (path: string, key: string) => {
    await p.waitForProjections();
    return ((await p.send('GET', `${path}/history?limit=200`, { key })).body as Named[]).map(({ type, actor }) => [type, actor.email]);
  };
  const other = await createSecondTenant(p);
  const { tenant } = other;
  ok(await p.send('PATCH', tenant, { key: other.key, body: { name: 'Renamed' } }));
  ok(await p.send('POST', `/admin/tenants/${other.id}/suspend`, { body: { reason: 'Test' } }));
  ok(await p.send('POST', `/admin/tenants/${other.id}/resume`, { body: { reason: 'Test' } }));
  const emails = new Map((await namesIn(tenant, other.key)) as [string, string | null][]);
  assert.is(emails.get('TenantSettingsChanged'), 'neighbour@example.com', JSON.stringify([...emails]));
  assert.is(emails.get('TenantSuspended'), null);
});

afterLastTest(() => p.close());

test.run();
