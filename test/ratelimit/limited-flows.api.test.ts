import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const QUOTA = 3;
const { flows, ...others } = RATE_LIMIT_POLICIES;
const small = {
  ...others,
  flows: {
    clone: { ...flows.clone, quota: QUOTA },
    invite: { ...flows.invite, quota: QUOTA },
    checkout: { ...flows.checkout, quota: QUOTA },
    publish: { ...flows.publish, quota: QUOTA },
  },
};

type Problem = { code: string; detail: string };
type Platform = Awaited<ReturnType<typeof createTestPlatform>>;

const start = async () => {
  const p = await createTestPlatform({ limits: createRateLimiter(small) });
  let now = Date.now();
  p.clock.now = () => now;
  return {
    p,
    wait: (ms: number): void => {
      now += ms;
    },
  };
};

const createAgent = async (p: Platform, tenant: string, key?: string): Promise<string> => {
  const body = { name: 'Source', slug: 'source' };
  return ((await p.send('POST', `${tenant}/agents`, { body, ...(key && { key }) })).body as { id: string }).id;
};

test('a tenant that clones more agents than its limit gets 429 until the limit allows more, and another tenant is not affected', async () => {
  const { p, wait } = await start();
  const other = await createSecondTenant(p);
  const [source, foreign] = [await createAgent(p, p.tenant), await createAgent(p, other.tenant, other.key)];
  let clones = 0;
  const clone = (id: string, key?: string) =>
    p.send('POST', `/agents/${id}/clone`, { body: { name: `C ${clones++}` }, ...(key && { key }) });
  for (let index = 0; index < QUOTA; index++) assert.is((await clone(source)).status, 201);
  const agents = p.eventsOf('AgentCloned').length;
  const refused = await clone(source);
  assert.is(refused.status, 429);
  assert.is((refused.body as Problem).detail, 'a tenant may make 3 clones per hour: wait before you make more');
  assert.is(p.eventsOf('AgentCloned').length, agents);
  assert.is((await clone(foreign, other.key)).status, 201);
  wait(Number(refused.headers.get('retry-after')) * 1_000);
  assert.is((await clone(source)).status, 201);
  await p.close();
});

test("if a tenant exceeds its request limit, the tenant's audit log records this", async () => {
  const { p } = await start();
  const source = await createAgent(p, p.tenant);
  for (let index = 0; index <= QUOTA; index++) await p.send('POST', `/agents/${source}/clone`, { body: { name: `C ${index}` } });
  await p.recordPending();
  await p.waitForProjections();
  const lines = (await p.send('GET', `${p.tenant}/audit-logs?action=access.refused`)).body as { meta: { code: string; path: string } }[];
  assert.equal(
    lines.map(({ meta: { code, path } }) => [code, path]),
    [['rate_limited', `/agents/${source}/clone`]],
  );
  await p.close();
});

test('a repeated request with the same Idempotency-Key does not count against the limit', async () => {
  const { p } = await start();
  const source = await createAgent(p, p.tenant);
  const clone = (name: string) => p.send('POST', `/agents/${source}/clone`, { body: { name }, headers: { 'idempotency-key': name } });
  for (let index = 0; index < 2 * QUOTA; index++) assert.is((await clone('The same')).status, 201);
  assert.is((await clone('Another')).status, 201);
  await p.close();
});

test('adding members and issuing invitations count against the same limit', async () => {
  const { p } = await start();
  const invite = (index: number) => p.send('POST', `${p.tenant}/members`, { body: { email: `m${index}@example.com`, role: 'MEMBER' } });
  const { user_id } = (await invite(1)).body as { user_id: string };
  assert.is((await p.send('POST', `${p.tenant}/members/${user_id}/invitation`)).status, 201);
  assert.is((await invite(2)).status, 201);
  const users = p.eventsOf('UserRegistered').length;
  assert.is((await invite(3)).status, 429);
  assert.is((await p.send('POST', `${p.tenant}/members/${user_id}/invitation`)).status, 429);
  assert.is(p.eventsOf('UserRegistered').length, users);
  await p.close();
});

test('if a tenant starts more checkouts than its limit allows, further ones get 429, and no request is sent to the payment provider', async () => {
  const { p } = await start();
  const body = {
    name: 'Paid',
    slug: 'paid',
    monthly_usd: 10,
    price_id: 'price_1',
    limits: { agents: 5, members: 5, cron_jobs: 5, webhooks_per_minute: 5 },
  };
  assert.is((await p.send('POST', '/admin/plans', { body })).status, 201);
  const checkout = () => p.send('POST', `${p.tenant}/billing/checkout-session`, { body: { price_id: 'price_1' } });
  for (let index = 0; index < QUOTA; index++) assert.is((await checkout()).status, 201);
  assert.is((await checkout()).status, 429);
  await p.close();
});

test.run();
