import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { issueKey } from '../../commands/identity/api-key.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { seed } from '../../infra/processes/seed.ts';
import { startSecondPlatform } from '../fixtures/second-platform.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { addMember, type TestPlatform } from '../fixtures/users.ts';

const MAX_REVOCATION_MS = 1_000;

/**
 * Repeats a request until its status is not 200, or until a time limit has passed. @returns the last status, and the
 * elapsed time in milliseconds
 */
const untilRefused = async (statusOf: () => Promise<number>): Promise<{ status: number; ms: number }> => {
  const startedAt = performance.now();
  for (;;) {
    const status = await statusOf();
    const ms = performance.now() - startedAt;
    if (status !== 200 || ms > 5 * MAX_REVOCATION_MS) return { status, ms };
    await sleep(1);
  }
};

type Member = { readonly p: TestPlatform; readonly key: string; readonly key_id: string; readonly user_id: string };
type Revocation = { readonly name: string; readonly status: number; readonly revoke: (member: Member) => Promise<unknown> };

const REVOCATIONS: readonly Revocation[] = [
  { name: 'a revoked key', status: 401, revoke: ({ p, key_id }) => p.send('DELETE', `${p.tenant}/api-keys/${key_id}`) },
  {
    name: 'a suspended user',
    status: 401,
    revoke: ({ p, user_id }) => p.send('PATCH', `/api/v1/admin/users/${user_id}`, { body: { is_suspended: true } }),
  },
  { name: 'a removed member', status: 401, revoke: ({ p, user_id }) => p.send('DELETE', `${p.tenant}/members/${user_id}`) },
  {
    name: 'a suspended tenant',
    status: 403,
    revoke: ({ p }) => p.send('POST', `/admin/tenants/${p.tenant_id}/suspend`, { body: { reason: 'a test' } }),
  },
];

for (const { name, status, revoke } of REVOCATIONS)
  test(`within a second, ${name} is refused by every API process, even by a process that has cached the state in which the access was allowed`, async () => {
    const p = await createTestPlatform();
    const other = await startSecondPlatform(p);
    const member = await addMember(p, 'MEMBER');
    const statusHere = async () => (await p.send('GET', p.tenant, { key: member.key })).status;
    const statusElsewhere = () => other.get(p.tenant, member.key);
    assert.equal([await statusHere(), await statusElsewhere(), await statusElsewhere()], [200, 200, 200]);
    const response = (await revoke({ p, ...member })) as { status: number; text: string };
    assert.ok(response.status < 300, response.text);
    for (const process of [statusHere, statusElsewhere]) {
      const refused = await untilRefused(process);
      assert.is(refused.status, status);
      assert.ok(refused.ms <= MAX_REVOCATION_MS, `${refused.ms} ms`);
    }
    await other.close();
    await p.close();
  });

test("every API process refuses an API key from exactly the key's expiry time on, although no event is recorded at that time", async () => {
  const p = await createTestPlatform();
  const other = await startSecondPlatform(p);
  const start = Date.now();
  const expires_at = new Date(start + 60_000).toISOString();
  const { key } = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'short', expires_at } })).body as { key: string };
  const both = async () => [(await p.send('GET', p.tenant, { key })).status, await other.get(p.tenant, key)];
  assert.equal(await both(), [200, 200]);
  p.clock.now = () => start + 59_999;
  assert.equal(await both(), [200, 200]);
  p.clock.now = () => start + 60_000;
  assert.equal(await both(), [401, 401]);
  await other.close();
  await p.close();
});

test("when one API process ends the suspension of a user, another API process accepts the user's key again within a second", async () => {
  const p = await createTestPlatform();
  const other = await startSecondPlatform(p);
  const member = await addMember(p, 'MEMBER');
  const suspend = (is_suspended: boolean) => p.send('PATCH', `/api/v1/admin/users/${member.user_id}`, { body: { is_suspended } });
  assert.is(await other.get(p.tenant, member.key), 200);
  await suspend(true);
  assert.is((await untilRefused(() => other.get(p.tenant, member.key))).status, 401);
  await suspend(false);
  const back = await untilRefused(async () => ((await other.get(p.tenant, member.key)) === 200 ? 204 : 200));
  assert.is(back.status, 204);
  assert.ok(back.ms <= MAX_REVOCATION_MS, `${back.ms} ms`);
  await other.close();
  await p.close();
});

test('a role on an agent that is assigned by a process with a slow clock has an effect at once; when the user is removed from the tenant, the role ends', async () => {
  const p = await createTestPlatform();
  const slow = await startSecondPlatform(p, p.log, () => Date.now() - 60_000);
  const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string }).id;
  const { user_id, key } = await addMember(p, 'MEMBER');
  const path = `${p.tenant}/agents/${agent}`;
  assert.is((await slow.send('PUT', `${path}/roles/${user_id}`, p.key, { role: 'VIEWER' })).status, 200);
  await p.waitForProjections();
  const listed = async () => ((await p.send('GET', `${p.tenant}/agents`, { key })).body as unknown[]).length;
  assert.equal([(await p.send('GET', path, { key })).status, await listed()], [200, 1]);
  await p.send('DELETE', `${p.tenant}/members/${user_id}`);
  await slow.send('POST', `${p.tenant}/members`, p.key, { email: 'member@example.com' });
  await p.waitForProjections();
  assert.equal([(await p.send('GET', path, { key })).status, await listed()], [404, 0]);
  await slow.close();
  await p.close();
});

test('with a real event store, access that is revoked through one API process is refused by another one within a second', async () => {
  const p = await createTestPlatform();
  const store = await startStore();
  const logs = [openLog(store.url), openLog(store.url)] as const;
  for (const log of logs) afterTest(log.close);
  const [here, there] = [await startSecondPlatform(p, logs[0]), await startSecondPlatform(p, logs[1])];
  let first = { key: '', tenant_id: '' };
  await seed(logs[0], here.systemContext(), undefined, (credentials) => {
    first = credentials;
  });
  const tenant = `/tenant/${first.tenant_id}`;
  const create = async (path: string, body: object) =>
    (await (await here.send('POST', path, first.key, body)).json()) as { id: string; key: string; user_id: string };
  const spare = await create(`${tenant}/api-keys`, { name: 'spare' });
  const member = await create(`${tenant}/members`, { email: 'somebody@example.com' });
  const bound = { kind: 'tenant', tenant_id: first.tenant_id, agent_id: null, owner_id: member.user_id } as const;
  const { key } = (await issueKey(here.systemContext(first.tenant_id), bound, { name: 'theirs', expires_at: null })).state;
  assert.equal([await there.get(tenant, spare.key), await there.get(tenant, key), await there.get(tenant, first.key)], [200, 200, 200]);
  const revocations = [
    { credential: spare.key, revoke: () => here.send('DELETE', `${tenant}/api-keys/${spare.id}`, first.key), status: 401 },
    { credential: key, revoke: () => here.send('DELETE', `${tenant}/members/${member.user_id}`, first.key), status: 401 },
    {
      credential: first.key,
      revoke: () => here.send('POST', `/admin/tenants/${first.tenant_id}/suspend`, first.key, { reason: 'a test' }),
      status: 403,
    },
  ];
  for (const { credential, revoke, status } of revocations) {
    assert.ok((await revoke()).ok);
    const refused = await untilRefused(() => there.get(tenant, credential));
    assert.is(refused.status, status);
    assert.ok(refused.ms <= MAX_REVOCATION_MS, `${refused.ms} ms`);
  }
  for (const process of [here, there]) await process.close();
  for (const log of logs) await log.close();
  await store.end();
  await p.close();
});

test.run();
