import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import * as Plan from '../../domain/billing/plan.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { createRateLimiter, type RateLimiter } from '../../infra/ratelimit/limiter.ts';
import { openQuotaTable } from '../../infra/ratelimit/quota-table.ts';
import { createQuotaSync } from '../../infra/ratelimit/shared-quota.ts';
import { timeInDigests } from '../fixtures/digest-time.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { type Answer, createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

const WITHIN_MS = 1_000;

type Given = Awaited<ReturnType<typeof createWebhookPlatform>>;

/** Creates a plan with this quota of webhook deliveries per minute, and moves the tenant to it. */
const setQuota = async ({ systemContext, tenant_id }: Pick<Given, 'systemContext' | 'tenant_id'>, webhooks_per_minute: number) => {
  const ctx = systemContext(tenant_id);
  const plan_id = ctx.secrets.uniqueId('plan', `plan ${webhooks_per_minute}`, 0, 'platform');
  const limits = { agents: 10, members: 10, cron_jobs: 10, webhooks_per_minute };
  await ctx.transact(Plan, plan_id, Plan.create({ slug: 'one', name: 'One', monthly_usd: 0, price_id: null, limits }));
  await ctx.transact(Tenant, tenant_id, Tenant.update({ plan_id }, 'a test'));
};

let deliveryCount = 0;
const newDeliveryId = () => ({ 'x-github-delivery': `delivery-${deliveryCount++}` });
const problemOf = ({ status, json }: Answer) => [status, json.code];
const QUOTA_EXCEEDED = [429, 'rate_limited'];

test('a delivery beyond the quota gets 429 with Retry-After, and no event is appended', async () => {
  const given = await createWebhookPlatform({}, createRateLimiter());
  let now = Date.now();
  given.clock.now = () => now;
  await setQuota(given, 5);
  const first = newDeliveryId();
  const accepted = await given.deliver('{}', first);
  assert.is(accepted.status, 202);
  assert.is(accepted.headers.get('ratelimit-policy'), '"webhooks";q=5;w=60');
  assert.is(accepted.headers.get('ratelimit'), '"webhooks";r=4;t=12');
  for (let index = 0; index < 4; index++) assert.is((await given.deliver('{}', newDeliveryId())).status, 202);
  const before = given.log.events.length;
  const late = newDeliveryId();
  const refused = await given.deliver('{}', late);
  assert.equal(problemOf(refused), QUOTA_EXCEEDED);
  assert.match(refused.headers.get('content-type')!, /problem\+json/);
  assert.is(refused.headers.get('ratelimit'), '"webhooks";r=0;t=60');
  assert.is(refused.headers.get('retry-after'), '12');
  assert.is((await given.deliver('{}', first)).json.outcome, 'duplicate', 'a redelivery costs nothing');
  now += 11_000;
  assert.equal(problemOf(await given.deliver('{}', late)), QUOTA_EXCEEDED);
  now += 1_000;
  assert.is((await given.deliver('{}', late)).status, 202);
  assert.is(given.log.events.length, before + 1);
  await given.close();
  assert.is(given.ofType('WebhookRejected').length, 0);
  const counted = given.ofType('WebhookRejectionsCounted').map(({ data }) => data as { caller: string; count: number });
  assert.is(
    counted.reduce((sum, { count }) => sum + count, 0),
    2,
  );
  assert.ok(counted.every(({ caller }) => caller === 'rate_limited'));
});

test('if many deliveries exceed the quota, at most one event per minute records how many did', async () => {
  const given = await createWebhookPlatform({}, createRateLimiter());
  const now = Date.now();
  given.clock.now = () => now;
  await setQuota(given, 1);
  await given.deliver('{}', newDeliveryId());
  const before = given.log.events.length;
  for (let index = 0; index < 200; index++) assert.is((await given.deliver('{}', newDeliveryId())).status, 429);
  await sleep(1_200);
  assert.is(given.log.events.length, before);
  await given.close();
  assert.is(given.log.events.length, before + 1);
});

test('a delivery with a wrong signature or content type does not count against the quota', async () => {
  const given = await createWebhookPlatform({}, createRateLimiter());
  await setQuota(given, 1);
  for (let index = 0; index < 20; index++) {
    assert.is((await given.deliver('{}', { ...newDeliveryId(), 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` })).status, 401);
    assert.is((await given.deliver('{}', { ...newDeliveryId(), 'content-type': 'text/plain' })).status, 415);
  }
  assert.is((await given.deliver('{}', newDeliveryId())).status, 202);
  assert.equal(problemOf(await given.deliver('{}', newDeliveryId())), QUOTA_EXCEEDED);
  await given.close();
});

test('a delivery beyond the quota appends no event, so when the same body is sent later, it is not treated as a replay', async () => {
  const given = await createWebhookPlatform({ replay_guard: 'block' }, createRateLimiter());
  await setQuota(given, 1);
  await given.deliver('{"a":1}', newDeliveryId());
  const before = given.log.events.length;
  assert.equal(problemOf(await given.deliver('{"a":2}', newDeliveryId())), QUOTA_EXCEEDED);
  assert.is(given.log.events.length, before);
  await given.close();
});

test('with a delivery quota of zero, every delivery is refused', async () => {
  const given = await createWebhookPlatform({}, createRateLimiter());
  await setQuota(given, 0);
  const refused = await given.deliver('{}', newDeliveryId());
  assert.equal(problemOf(refused), QUOTA_EXCEEDED);
  const wait = Number(refused.headers.get('retry-after'));
  assert.ok(wait >= 60 && wait <= 120, String(wait));
  await given.close();
});

test('deliveries of one tenant do not use up the quota of another tenant with the same plan and the same client IP address', async () => {
  const p = await createTestPlatform({ limits: createRateLimiter() });
  const limits = { agents: 5, members: 5, cron_jobs: 5, webhooks_per_minute: 2 };
  const plan = await p.send('POST', '/admin/plans', { body: { slug: 'two', name: 'Two', monthly_usd: 0, limits } });
  const createIntegration = async (slug: string) => {
    const plan_id = (plan.body as { id: string }).id;
    const created = await p.send('POST', '/admin/tenants', { body: { name: slug, slug, plan_id, owner_email: `${slug}@example.com` } });
    const { id, owner_key: key } = created.body as { id: string; owner_key: string };
    const agent = await p.send('POST', `/tenant/${id}/agents`, { key, body: { name: 'A', slug: 'a' } });
    const body = { provider: 'github', agent_id: (agent.body as { id: string }).id, label: 'Code' };
    return (await p.send('POST', `/tenant/${id}/webhook-integrations`, { key, body })).body as { id: string; secret: string };
  };
  const [one, other] = [await createIntegration('one'), await createIntegration('other')];
  const deliver = async ({ id, secret }: { id: string; secret: string }) => {
    const headers = { ...newDeliveryId(), 'x-github-event': 'push', 'x-hub-signature-256': sign('{}', secret) };
    return (await p.send('POST', `/hooks/inbound/${id}`, { key: '', raw: '{}', headers })).status;
  };
  const statuses = [
    await deliver(one),
    await deliver(one),
    await deliver(one),
    await deliver(other),
    await deliver(other),
    await deliver(one),
  ];
  assert.equal(statuses, [202, 202, 429, 202, 202, 429]);
  await p.close();
});

/**
 * Simulates two processes: two platforms that share their quota through one database. `calls` counts the charges that
 * were sent to the database, and those of them that failed.
 */
const twoProcesses = async (webhooks_per_minute: number) => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await createSystemTables(client);
  await client.end();
  const calls = { charges: 0, failures: 0 };
  const rows = [openQuotaTable(databaseUrl, silentLogger), openQuotaTable(databaseUrl, silentLogger)] as const;
  const limits = rows.map(({ charge }) =>
    createRateLimiter(
      RATE_LIMIT_POLICIES,
      createQuotaSync({
        charge: (costs) => {
          calls.charges++;
          return charge(costs).catch((error) => {
            calls.failures++;
            throw error;
          });
        },
      }),
    ),
  ) as [RateLimiter, RateLimiter];
  const given = await createWebhookPlatform({}, limits[0]);
  await setQuota(given, webhooks_per_minute);
  const other = await given.startSecondProcess(given.log, limits[1]);
  const close = async () => {
    await other.close();
    await given.close();
    await Promise.all(rows.map((table) => table.close()));
  };
  afterTest(close);
  return { given, other, calls, close };
};

/**
 * Sends 500 concurrent deliveries to two processes with a shared quota of 200 per minute. @returns the number of
 * accepted deliveries and its expected maximum; null if a charge to the database failed, because each process then
 * counted alone, or if a process was too busy to answer
 */
const flood = async (): Promise<{ passed: number; max: number } | null> => {
  const { given, other, calls, close } = await twoProcesses(200);
  for (const { post } of [given, other]) await post(given.hook, '{}', newDeliveryId());
  await sleep(300);
  const startedAt = Date.now();
  const posts = Array.from({ length: 500 }, (_, n) => (n % 2 ? given : other).post(given.hook, '{}', newDeliveryId()));
  const answers = await Promise.all(posts);
  const max = 200 + ((Date.now() - startedAt) * 200) / 60_000 + 2 * 50;
  const passed = given.accepted().length;
  const count = (wanted: number): number => answers.filter(({ status }) => status === wanted).length;
  await close();
  if (calls.failures > 0 || count(503) > 0) return null;
  assert.is(count(202), passed - 2);
  assert.is(count(429), 502 - passed);
  return { passed, max };
};

test('two processes share the delivery quota of a tenant; each process can exceed the quota by at most one lease', async () => {
  let found = await flood();
  for (let tries = 1; !found && tries < 5; tries++) found = await flood();
  assert.ok(found, 'in each of five floods, a charge failed or a process answered 503');
  const { passed, max } = found;
  assert.ok(passed >= 195 && passed <= max, `${passed} accepted, at most ${max} allowed`);
});

test('while the database is down, each process grants the whole delivery quota by itself', async () => {
  const charge = async () => {
    throw new Error('down');
  };
  const [one, two] = [
    createRateLimiter(RATE_LIMIT_POLICIES, createQuotaSync({ charge })),
    createRateLimiter(RATE_LIMIT_POLICIES, createQuotaSync({ charge })),
  ];
  const given = await createWebhookPlatform({}, one);
  afterTest(given.close);
  await setQuota(given, 20);
  const other = await given.startSecondProcess(given.log, two);
  afterTest(other.close);
  for (const { post } of [given, other]) {
    const answers = [];
    const startedAt = Date.now();
    for (let index = 0; index < 25; index++) answers.push((await post(given.hook, '{}', newDeliveryId())).status);
    const more = Math.floor(((Date.now() - startedAt) * 20) / 60_000);
    assert.equal(answers.slice(0, 20), Array(20).fill(202));
    assert.ok(
      answers.every((status) => status === 202 || status === 429),
      String(answers),
    );
    assert.ok(answers.filter((status) => status === 429).length >= 5 - more, `${answers} with ${more} more while they were sent`);
  }
});

test('a change of the plan changes the delivery quota in every process within a second', async () => {
  const { given, other } = await twoProcesses(1);
  const both = [given, other];
  const statuses = () => Promise.all(both.map(async ({ post }) => (await post(given.hook, '{}', newDeliveryId())).status));
  for (let round = 0; round < 3; round++) await statuses();
  assert.equal(await statuses(), [429, 429]);
  const changed = performance.now();
  await setQuota(given, 1_000);
  while (!(await statuses()).every((status) => status === 202)) assert.ok(performance.now() - changed < WITHIN_MS, 'in time');
  await setQuota(given, 2);
  await sleep(100);
  for (let round = 0; round < 3; round++) await statuses();
  assert.equal(await statuses(), [429, 429]);
});

test('accepting a delivery reads neither the event store nor the database, and counting it against the quota takes no longer than two SHA-256 digests of 1 KiB', async () => {
  const { given, calls } = await twoProcesses(10_000_000);
  await given.deliver('{}', newDeliveryId());
  let reads = 0;
  const { read, last } = given.log;
  Object.assign(given.log, {
    read: (...args: Parameters<typeof read>) => {
      reads++;
      return read(...args);
    },
    last: (...args: Parameters<typeof last>) => {
      reads++;
      return last(...args);
    },
  });
  const [began, charged] = [performance.now(), calls.charges];
  for (let index = 0; index < 1_000; index++) assert.is((await given.deliver('{}', newDeliveryId())).status, 202);
  const tenths = (performance.now() - began) / 100;
  assert.is(reads, 0);
  assert.ok(calls.charges - charged <= tenths + 2, `${calls.charges - charged} charges in ${tenths} tenths of a second`);
  const limits = createRateLimiter();
  const time = await timeInDigests(() => void limits.chargeDelivery(given.tenant_id, 10_000_000, Date.now(), () => undefined));
  assert.ok(time <= 2, `${time} digests`);
});

test.run();
