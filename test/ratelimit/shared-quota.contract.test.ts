import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { openQuotaTable } from '../../infra/ratelimit/quota-table.ts';
import type { QuotaTable } from '../../infra/ratelimit/settlement-queue.ts';
import { createQuotaSync } from '../../infra/ratelimit/shared-quota.ts';
import { leaseOf } from '../../infra/ratelimit/token-buckets.ts';
import { timeInDigests } from '../fixtures/digest-time.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const principal = { kind: 'user', user_id: 'cu', key_id: 'ck', bound_to: 'ct', super_admin: false } as const;
const CREDENTIAL_TEXT = 'Bearer ann_abcdefgh_0000';
const small = { ...RATE_LIMIT_POLICIES, credential: { ...RATE_LIMIT_POLICIES.credential, quota: 1_000 } };

/**
 * Creates a client that counts one request per call. A call returns null if the request is allowed, and otherwise the
 * seconds after which to retry.
 */
const createClient =
  (limits: ReturnType<typeof createRateLimiter>, clock: () => number = Date.now) =>
  async (): Promise<number | null> => {
    try {
      await limits.chargeRequest(principal, CREDENTIAL_TEXT, clock(), () => undefined);
      return null;
    } catch (error) {
      if (error instanceof Refusal && error.code === 'rate_limited') return error.extra.retryAfter!;
      throw error;
    }
  };

/**
 * Converts a waiting time in seconds to the value of Retry-After: at least 1, and rounded up. For an allowed request,
 * returns 0.
 */
const retryAfterOf = (wait: number | null): number => (wait === null ? 0 : Math.max(1, Math.ceil(wait)));

/** Starts the rate limiters of `count` API processes that share one database. */
const startLimiters = async (count: number, policies = RATE_LIMIT_POLICIES) => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await createSystemTables(client);
  await client.end();
  const rows = Array.from({ length: count }, () => openQuotaTable(databaseUrl, silentLogger));
  return {
    limiters: rows.map((one) => createRateLimiter(policies, createQuotaSync(one))),
    close: () => Promise.all(rows.map((one) => one.close())),
  };
};

/** Creates a substitute for the quota table that cannot be reached while `isDown` is true. */
const outage = () => {
  const state = { isDown: true, charged: [] as number[] };
  const rows: QuotaTable = {
    charge: async (costs) => {
      if (state.isDown) throw new Error('down');
      state.charged.push(...costs.values());
      return new Map([...costs].map(([key, cost]) => [key, cost]));
    },
  };
  return { rows, state };
};

test('a process leases 50 requests of a quota at once, but not less than a thousandth and not more than a quarter of the quota', () => {
  const lease = (quota: number) => leaseOf({ name: 'test', quota, seconds: 60 });
  assert.equal([lease(20), lease(1_000), lease(1_000_000), lease(10_000_000)], [5, 50, 1_000, 10_000]);
});

test('two processes that share a rate limit together allow its quota, the refilled requests and at most one more lease each; Retry-After is correct', async () => {
  const { limiters, close } = await startLimiters(2, small);
  const clients = limiters.map((one) => createClient(one));
  const startedAt = Date.now();
  let passed = 0;
  let retry = 0;
  const waits: number[] = [];
  const send = async (request: () => Promise<number | null>, requests: number) => {
    for (let index = 0; index < requests; index++) {
      const refused = await request();
      if (refused === null) passed++;
      retry = refused ?? retry;
    }
  };
  await Promise.all(clients.flatMap((request) => Array.from({ length: 10 }, () => send(request, 500))));
  const refilled = ((Date.now() - startedAt) * 1_000) / 60_000;
  assert.ok(passed >= 995, `${passed} passed`);
  assert.ok(passed <= 1_000 + refilled + 2 * 50, `${passed} passed, ${refilled} refilled`);
  assert.ok(retry > 0, 'the last requests were refused');
  for (const request of clients) {
    let wait = 0;
    while (wait === 0) wait = retryAfterOf(await request());
    if (wait > 1) await sleep((wait - 1) * 1_000);
    if (wait > 1) assert.is.not(await request(), null, 'a request one second earlier is refused');
    await sleep(1_000);
    assert.is(await request(), null, `after ${wait} s`);
    waits.push(wait);
  }
  console.log(
    `${passed} passed, ${refilled.toFixed(1)} refilled, overshoot ${(passed - 1_000 - refilled).toFixed(1)}, Retry-After ${waits}`,
  );
  await close();
});

test('a burst of requests to a single process gets the whole quota, but not more, even while requests wait for leases', async () => {
  const { limiters, close } = await startLimiters(1, small);
  const request = createClient(limiters[0]!);
  const answers = await Promise.all(Array.from({ length: 3_000 }, request));
  const passed = answers.filter((wait) => wait === null).length;
  assert.ok(passed >= 995 && passed <= 1_050, String(passed));
  await close();
});

test('invalid credentials that one process receives also count against the limit of the other process', async () => {
  const { limiters, close } = await startLimiters(2);
  const [one, other] = limiters as [ReturnType<typeof createRateLimiter>, ReturnType<typeof createRateLimiter>];
  let allowed = 0;
  while ((await one.countFailedCredential('192.0.2.1', Date.now())) === null) allowed++;
  while ((await other.countFailedCredential('192.0.2.1', Date.now())) === null) allowed++;
  assert.ok(
    allowed >= RATE_LIMIT_POLICIES.badCredentials.quota && allowed <= RATE_LIMIT_POLICIES.badCredentials.quota + 2 * 5,
    String(allowed),
  );
  assert.throws(() => other.checkAddress('192.0.2.1', 'Bearer unknown', Date.now()));
  assert.is(await other.countFailedCredential('192.0.2.2', Date.now()), null);
  await close();
});

test('while the database is down, a process counts requests alone; it then allows an IP address only one lease of invalid credentials', async () => {
  const { rows, state } = outage();
  let now = Date.now();
  const limits = createRateLimiter(
    small,
    createQuotaSync(rows, () => now),
  );
  const request = createClient(limits, () => now);
  const passing = async (): Promise<number> => {
    let passed = 0;
    for (let index = 0; index < 1_500; index++) passed += Number((await request()) === null);
    return passed;
  };
  assert.is(await passing(), 1_000);
  now += 30_000;
  assert.is(await passing(), 500, 'half a window refills half of the quota');
  let allowed = 0;
  while ((await limits.countFailedCredential('192.0.2.1', Date.now())) === null) allowed++;
  assert.is(allowed, leaseOf(RATE_LIMIT_POLICIES.badCredentials));
  assert.throws(() => limits.checkAddress('192.0.2.1', 'Bearer unknown', Date.now()));
  limits.checkAddress('192.0.2.1', CREDENTIAL_TEXT, Date.now());
  await sleep(1_200);
  state.isDown = false;
  await sleep(1_200);
  assert.ok(state.charged.length > 0, 'the debt is charged');
  assert.ok(Math.max(...state.charged) <= 60_000, 'the debt is at most one window');
  limits.checkAddress('192.0.2.1', 'Bearer unknown', Date.now());
});

test('while a lease has requests left, none waits for the database, and a count costs at most two SHA-256 digests', async () => {
  const { chargeRequest, checkAddress } = createRateLimiter(
    RATE_LIMIT_POLICIES,
    createQuotaSync({ charge: async (costs) => new Map(costs) }),
  );
  let waited = 0;
  let index = 0;
  const time = await timeInDigests(() => {
    const now = Date.now();
    checkAddress('10.0.0.1', CREDENTIAL_TEXT, now);
    if (chargeRequest({ ...principal, key_id: `k${index++ % 4}` }, CREDENTIAL_TEXT, now, () => undefined)) waited++;
  });
  assert.is(waited, 0);
  assert.ok(time <= 2, `${time} digests`);
});

test('if the connection to the quota table does not respond, a new connection replaces it', async () => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await createSystemTables(client);
  await client.end();
  const proxy = await startTcpProxy(databaseUrl);
  const rows = openQuotaTable(proxy.url, silentLogger);
  afterTest(rows.close);
  afterTest(() => {
    proxy.close();
    proxy.end();
  });
  const cost = new Map([['key', 1_000]]);
  const charged = () =>
    rows.charge(cost).then(
      () => true,
      () => false,
    );
  assert.ok(await charged());
  proxy.stall();
  assert.not(await charged());
  proxy.stopStalling();
  for (let tries = 0; !(await charged()); tries++) {
    assert.ok(tries < 100, 'it still uses the dead connection');
    await sleep(100);
  }
});

test.run();
