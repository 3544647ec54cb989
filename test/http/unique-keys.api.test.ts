import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

const AT_ONCE = 50;

const atOnce = (work: (index: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, index) => work(index)));

const counted = (answers: readonly Answer[]): Record<number, number> =>
  Object.fromEntries(Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, some]) => [status, some!.length]));

test('if 50 requests create a tenant with the same slug at once, exactly one succeeds, and only the owner in that request is registered', async () => {
  const p = await createTestPlatform();
  const answers = await atOnce((index) =>
    p.send('POST', '/admin/tenants', { body: { name: 'Race', slug: 'race', owner_email: `owner${index}@race.test` } }),
  );
  assert.equal(counted(answers), { 201: 1, 409: 49 });
  assert.is(p.eventsOf('TenantCreated').length, 2, 'demo and the winner');
  assert.is(p.eventsOf('UserRegistered').length, 2, 'the administrator and the winner');
  await p.close();
});

test('if 50 requests create a plan, agent or allowed account with the same unique key at once, exactly one of them succeeds', async () => {
  const p = await createTestPlatform();
  const limits = { agents: 1, members: 1, cron_jobs: 1, webhooks_per_minute: 1 };
  const plans = await atOnce(() => p.send('POST', '/admin/plans', { body: { slug: 'race', name: 'Race', monthly_usd: 1, limits } }));
  const agents = await atOnce(() => p.send('POST', `${p.tenant}/agents`, { body: { name: 'Race', slug: 'race' } }));
  const accounts = await atOnce((index) =>
    p.send('POST', '/admin/allowed-accounts', { body: { email: index % 2 ? 'race@a.test' : 'RACE@a.test' } }),
  );
  for (const answers of [plans, agents, accounts]) assert.equal(counted(answers), { 201: 1, 409: 49 });
  await p.close();
});

test('50 concurrent requests that invite the same e-mail address create one member and one user', async () => {
  const p = await createTestPlatform();
  const answers = await atOnce((index) =>
    p.send('POST', `${p.tenant}/members`, { body: { email: index % 2 ? 'one@race.test' : 'One@Race.test' } }),
  );
  assert.equal(counted(answers), { 201: 1, 409: 49 });
  const registered = p.eventsOf('UserRegistered').filter(({ data }) => (data as { email: string }).email === 'one@race.test');
  assert.is(registered.length, 1);
  await p.close();
});

test('if 50 requests create an agent or an allowed account with the unique key of a deleted one at once, exactly one of them succeeds', async () => {
  const p = await createTestPlatform();
  const created = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'First', slug: 'again' } })).body as { id: string };
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${created.id}`)).status, 204);
  const answers = await atOnce(() => p.send('POST', `${p.tenant}/agents`, { body: { name: 'Next', slug: 'again' } }));
  assert.equal(counted(answers), { 201: 1, 409: 49 });
  assert.is(p.eventsOf('AgentSlugReleased').length, 1);
  const account = (await p.send('POST', '/admin/allowed-accounts', { body: { email: 'x@again.test' } })).body as { id: string };
  const removals = await atOnce(() => p.send('DELETE', `/admin/allowed-accounts/${account.id}`));
  assert.equal(counted(removals), { 204: 1, 404: 49 });
  const additions = await atOnce(() => p.send('POST', '/admin/allowed-accounts', { body: { email: 'x@again.test' } }));
  assert.equal(counted(additions), { 201: 1, 409: 49 });
  await p.close();
});

test('if two OWNERs each demote the other one with 50 concurrent requests, only one of the two is demoted', async () => {
  const p = await createTestPlatform();
  const owner = (await p.send('GET', '/me')).body as { user: { id: string } };
  const invited = (await p.send('POST', `${p.tenant}/members`, { body: { email: 'second@race.test', role: 'OWNER' } })).body as {
    user_id: string;
  };
  const key = await p.createKey(p.tenant_id, invited.user_id);
  await atOnce((index) =>
    index % 2
      ? p.send('PATCH', `${p.tenant}/members/${owner.user.id}`, { key, body: { role: 'MEMBER' } })
      : p.send('PATCH', `${p.tenant}/members/${invited.user_id}`, { body: { role: 'MEMBER' } }),
  );
  assert.is(p.eventsOf('MemberRoleChanged').length, 1);
  await p.close();
});

test('creating an agent with a slug that many deleted agents had does not read the streams of the deleted agents', async () => {
  const p = await createTestPlatform();
  const again = () => p.send('POST', `${p.tenant}/agents`, { body: { name: 'Again', slug: 'again' } });
  for (let n = 0; n < 10; n++) await p.send('DELETE', (await again()).headers.get('location')!);
  const { read } = p.log;
  const streams: string[] = [];
  p.log.read = (...call) => {
    streams.push(call[0]);
    return read(...call);
  };
  assert.is((await again()).status, 201);
  assert.is((await again()).status, 409);
  assert.is(new Set(streams).size, 1, 'only the stream of the current agent');
  await p.close();
});

test.run();
