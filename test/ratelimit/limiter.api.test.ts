import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { createTokenBuckets } from '../../infra/ratelimit/token-buckets.ts';
import { timeInDigests } from '../fixtures/digest-time.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const policy = { name: 'test', quota: 10, seconds: 60 };

test('a bucket allows its full quota at once, and then one request for each refilled token; a refused request gets the time to wait', () => {
  const { take, peek } = createTokenBuckets(policy);
  const start = 1_000_000;
  const takeAt = (now: number) => take('key', now);
  assert.equal(
    Array.from({ length: 10 }, () => takeAt(start).remaining),
    [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
  );
  const refused = takeAt(start);
  assert.equal(refused, { allowed: false, remaining: 0, reset: 60, retry: 6 });
  assert.is(peek('another', start).remaining, 10);
  assert.is(takeAt(start + refused.retry * 1_000 - 1).allowed, false);
  assert.is(takeAt(start + refused.retry * 1_000).allowed, true);
  assert.is(takeAt(start + 3_600_000).remaining, 9);
});

test('of ten thousand requests within a minute, a bucket allows only as many as its quota and the tokens that are refilled meanwhile', () => {
  const { take } = createTokenBuckets({ name: 'test', quota: 100, seconds: 60 });
  let passed = 0;
  for (let index = 0; index < 10_000; index++) if (take('key', 5_000 + index * 6).allowed) passed++;
  assert.ok(passed >= 199 && passed <= 201, String(passed));
});

test('if the clock is set back, a bucket refuses requests for one window at most', () => {
  const { take } = createTokenBuckets(policy);
  for (let index = 0; index < 10; index++) take('key', 10_000_000);
  assert.is(take('key', 1_000).allowed, false);
  assert.is(take('key', 1_000 + 6_000).allowed, true);
});

test('the number of buckets is bounded; the most recently used buckets are kept', () => {
  const { take, peek } = createTokenBuckets(policy, { capacity: 100 });
  for (let index = 0; index < 1_000; index++) take(`key${index}`, 1_000);
  assert.is(peek('key999', 1_000).remaining, 9);
  assert.is(peek('key0', 1_000).remaining, 10);
});

test('counting a request against a rate limit takes no longer than two SHA-256 digests of 1 KiB', async () => {
  const { chargeRequest, checkAddress } = createRateLimiter();
  const principal = { kind: 'user', user_id: 'cu', key_id: 'ck', bound_to: 'ct', super_admin: false } as const;
  const header = 'Bearer ann_abcdefgh_0000';
  let now = 0;
  const time = await timeInDigests(() => {
    now += 100;
    checkAddress('10.0.0.1', header, now);
    chargeRequest(principal, header, now, () => undefined);
  });
  assert.ok(time <= 2, `${time} digests`);
});

const small = {
  ...RATE_LIMIT_POLICIES,
  credential: { ...RATE_LIMIT_POLICIES.credential, quota: 5 },
  tenant: { ...RATE_LIMIT_POLICIES.tenant, quota: 8 },
};

test('responses name the rate limits; a request beyond a limit gets 429 with Retry-After, and changes nothing', async () => {
  const p = await createTestPlatform({ limits: createRateLimiter(small) });
  let now = Date.now();
  p.clock.now = () => now;
  const member = await addMember(p, 'MEMBER');
  const first = await p.send('GET', p.tenant, { key: member.key });
  assert.is(first.headers.get('ratelimit-policy'), '"credential";q=5;w=60, "tenant";q=8;w=60');
  assert.is(first.headers.get('ratelimit'), '"credential";r=4;t=12, "tenant";r=7;t=8');
  for (let index = 0; index < 4; index++) assert.is((await p.send('GET', p.tenant, { key: member.key })).status, 200);
  const before = p.log.events.length;
  const refused = await p.send('POST', `${p.tenant}/agents`, { key: member.key, body: { name: 'A', slug: 'a' } });
  assert.is(refused.status, 429);
  assert.is((refused.body as { code: string }).code, 'rate_limited');
  assert.is(refused.headers.get('ratelimit')?.startsWith('"credential";r=0;'), true);
  const wait = Number(refused.headers.get('retry-after'));
  assert.is(wait, 12);
  assert.is(p.log.events.length, before);
  now += wait * 1_000;
  assert.is((await p.send('GET', p.tenant, { key: member.key })).status, 200);
  await p.close();
});

test('all API keys of a tenant together have one limit; other tenants and the platform have limits of their own', async () => {
  const p = await createTestPlatform({ limits: createRateLimiter(small) });
  const [one, two] = [await addMember(p, 'MEMBER'), await addMember(p, 'AUDITOR')];
  const other = await createSecondTenant(p);
  const statuses = async (key: string, count: number): Promise<number[]> => {
    const found: number[] = [];
    for (let index = 0; index < count; index++) found.push((await p.send('GET', '/me', { key })).status);
    return found;
  };
  assert.equal(await statuses(one.key, 5), [200, 200, 200, 200, 200]);
  assert.equal(await statuses(two.key, 4), [200, 200, 200, 429]);
  assert.equal(await statuses(other.key, 2), [200, 200]);
  const platform = await p.send('GET', '/admin/tenants');
  assert.is(platform.headers.get('ratelimit-policy'), '"platform";q=10000000;w=60');
  await p.close();
});

test('a signed-in user has the same limit as one API key; a signed-in super-admin has the limit of the platform', async () => {
  const verify = async (token: string) => ({ email: `${token.split('.')[0]}@example.com`, name: null });
  const p = await createTestPlatform({ limits: createRateLimiter(small), verify });
  for (const name of ['member', 'admin', 'other'])
    await p.send('POST', '/admin/allowed-accounts', { body: { email: `${name}@example.com` } });
  const request = (name: string) => p.send('GET', '/me', { key: `${name}.of.test` });
  const first = await request('member');
  assert.is(first.headers.get('ratelimit-policy'), '"credential";q=5;w=60');
  for (let index = 0; index < 4; index++) assert.is((await request('member')).status, 200);
  assert.is((await request('member')).status, 429);
  assert.is((await request('other')).status, 200);
  const { user } = (await request('admin')).body as { user: { id: string } };
  await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_super_admin: true } });
  assert.is((await request('admin')).headers.get('ratelimit-policy'), '"platform";q=10000000;w=60');
  await p.close();
});

test('after 20 invalid credentials in a minute from an IP address, requests from it get 429, unless their credential was accepted before', async () => {
  const p = await createTestPlatform({ limits: createRateLimiter() });
  let now = Date.now();
  p.clock.now = () => now;
  const spare = await addMember(p, 'MEMBER');
  assert.is((await p.send('GET', '/me')).status, 200);
  const guess = async () => p.send('GET', '/me', { key: 'ann_00000000_not-a-key-at-all' });
  for (let index = 0; index < 20; index++) assert.is((await guess()).status, 401);
  const refused = await guess();
  assert.is(refused.status, 429);
  const wait = Number(refused.headers.get('retry-after'));
  assert.ok(wait >= 1 && wait <= 60, String(wait));
  assert.is((await p.send('GET', '/me', { key: '' })).status, 429, 'a request without a credential is limited, too');
  assert.is(
    (await p.send('GET', '/me', { key: spare.key })).status,
    429,
    'a valid key that was not used from here before is not looked up',
  );
  assert.is((await p.send('GET', '/me')).status, 200, 'a key that was valid here before still works');
  const webhook = await p.send('POST', `/hooks/inbound/c${'0'.repeat(24)}`, { key: '', body: {} });
  assert.is(webhook.status, 404, 'webhooks are not limited');
  now += wait * 1_000;
  assert.is((await p.send('GET', '/me', { key: spare.key })).status, 200);
  await p.close();
});

test('after an IP address has sent too many invalid credentials, a token that was valid before is accepted from it, but not the same token with another signature', async () => {
  const { checkAddress, chargeRequest, countFailedCredential } = createRateLimiter();
  const [address, now] = ['192.0.2.1', Date.now()];
  const token = (signature: string) => `Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.${signature.repeat(43)}`;
  const user = { kind: 'user', user_id: 'u', key_id: null, super_admin: false, bound_to: null } as const;
  await chargeRequest(user as unknown as Principal, token('a'), now, () => {});
  for (let index = 0; index < RATE_LIMIT_POLICIES.badCredentials.quota; index++) assert.is(await countFailedCredential(address, now), null);
  checkAddress(address, token('a'), now);
  assert.throws(
    () => checkAddress(address, token('b'), now),
    (error: Refusal) => error.code === 'rate_limited',
  );
});

test.run();
