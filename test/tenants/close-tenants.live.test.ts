import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { closings } from '../../infra/tenants/close-tenants.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { tenants } from '../../projections/tenants/tenant.ts';
import { closeTenants } from '../fixtures/close-tenants.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { pause, startStore } from '../fixtures/store-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { createSecondTenant, type TestPlatform } from '../fixtures/users.ts';

const DAY = 86_400_000;
const reason = { reason: 'a test' };

/** Runs the tenant closer as if the read model listed every tenant as due for closing. */
const closeDue = async (p: TestPlatform): Promise<void> => {
  const ids = p.eventsOf('TenantCreated').map(({ id }) => id);
  await closeTenants(p.log, ids, new Date(p.clock.now()).toISOString());
};

/** Creates a tenant with an agent, a runner key and a webhook integration. */
const createTenant = async (p: TestPlatform, slug: string) => {
  const { tenant, key, id } = await createSecondTenant(p, slug);
  const create = async (path: string, body: object) =>
    (await p.send('POST', tenant + path, { key, body })).body as { id: string; key: string };
  const agent = await create('/agents', { name: 'Agent', slug: 'agent' });
  const runner = await create(`/agents/${agent.id}/runner-keys`, { name: 'Runner' });
  const hook = await create('/webhook-integrations', { provider: 'github', agent_id: agent.id, label: 'Code' });
  return { id, tenant, key, runner: runner.key, hook: `/hooks/inbound/${hook.id}`, agent: `${tenant}/agents/${agent.id}` };
};

test('30 days after a tenant started to close, its keys and webhooks are refused, and its slug is free', async () => {
  const p = await createTestPlatform();
  let now = Date.now();
  p.clock.now = () => now;
  const acme = await createTenant(p, 'acme');
  const other = await createTenant(p, 'stays');
  const status = async (method: string, path: string, key: string, body?: object) =>
    (await p.send(method, path, { key, ...(body ? { body } : {}) })).status;
  const again = { name: 'Acme', slug: 'acme', owner_email: 'again@example.com' };
  assert.is(await status('POST', `${acme.tenant}/close`, acme.key, reason), 200);
  now += 30 * DAY - 1_000;
  await closeDue(p);
  assert.is(p.eventsOf('TenantClosed').length, 0);
  assert.is(await status('GET', acme.tenant, acme.key), 200);
  assert.is((await p.send('POST', '/admin/tenants', { body: again })).status, 409);
  assert.is(await status('POST', acme.hook, '', {}), 401);
  now += 1_000;
  for (let index = 0; index < 3; index++) await closeDue(p);
  assert.equal(
    p.eventsOf('TenantClosed').map(({ id, actor }) => [id, actor]),
    [[acme.id, { kind: 'system', id: 'annals' }]],
  );
  await p.waitForProjections();
  for (const key of [acme.key, acme.runner])
    for (const path of [acme.tenant, acme.agent, '/me']) assert.is(await status('GET', path, key), 401, path);
  assert.is(await status('POST', acme.hook, '', {}), 404);
  const { status: code, body } = await p.send('GET', `/admin/tenants/${acme.id}`);
  assert.equal([code, (body as { status: string }).status], [200, 'closed']);
  assert.is((await p.send('POST', `${acme.tenant}/reopen`, { body: reason })).status, 404);
  const listed = (await p.send('GET', '/admin/tenants')).body as { id: string; status: string }[];
  assert.equal(
    listed
      .filter(({ id }) => [acme.id, other.id].includes(id))
      .map((one) => one.status)
      .sort(),
    ['active', 'closed'],
  );
  const next = await p.send('POST', '/admin/tenants', { body: again });
  assert.is(next.status, 201);
  const { id, owner_key } = next.body as { id: string; owner_key: string };
  assert.is.not(id, acme.id);
  assert.is(await status('GET', `/tenant/${id}`, owner_key), 200);
  assert.is((await p.send('POST', '/admin/tenants', { body: again })).status, 409);
  assert.is(await status('GET', other.tenant, other.key), 200);
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test('a tenant that is reopened before the waiting period ends stays open, even if the clock was set back', async () => {
  const p = await createTestPlatform();
  let now = Date.now();
  p.clock.now = () => now;
  const acme = await createTenant(p, 'acme');
  const send = async (what: string) => (await p.send('POST', `${acme.tenant}/${what}`, { key: acme.key, body: reason })).status;
  await send('close');
  now -= 365 * DAY;
  await closeDue(p);
  now += 365 * DAY + 20 * DAY;
  assert.is(await send('reopen'), 200);
  now += 20 * DAY;
  await closeDue(p);
  await send('close');
  now += 29 * DAY;
  await closeDue(p);
  assert.is(p.eventsOf('TenantClosed').length, 0);
  assert.is((await p.send('GET', acme.tenant, { key: acme.key })).status, 200);
  await p.close();
});

/** Returns a function that runs a decision on a tenant and appends the resulting events to the log. */
const createDecider = (log: Log) => {
  const transact = createTransact(log, openAggregateCache(log, []));
  const meta = (tenant: string) => ({ tenant, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 });
  return (id: string, decide: (tenant: Tenant.Tenant) => Tenant.TenantEvent[]) =>
    transact({ aggregate: Tenant, tenant: id, id, decide, meta: meta(id), seed: String(Math.random()) });
};

test('with a real event store and database, two workers close a tenant once, even if they restart and their clocks jump', async () => {
  const store = await startStore();
  const log = openLog(store.url);
  const databaseUrl = await freshDatabase();
  let now = Date.now();
  const start = () => startWorker([closings], { log, databaseUrl, logger: silentLogger, now: () => now, intervalMs: 50 });
  // Start the workers before the read model exists. They must be able to handle this.
  let workers = [start(), start()];
  const projectionPlatform = await startProjectionPlatform(log, databaseUrl, [tenants as unknown as AnyProjection]);
  const decide = createDecider(log);
  const closes_at = new Date(now + 30 * DAY).toISOString();
  const [due, reopened, open] = [...'dro'].map((letter) => letter.padEnd(25, 'c').split('').reverse().join('')) as [string, string, string];
  for (const id of [due, reopened, open]) {
    await decide(id, Tenant.create({ name: id, slug: id, plan_id: id, billing_email: null, generation: 0 }, id));
    if (id !== open) await decide(id, Tenant.close('a test', closes_at));
  }
  await decide(reopened, Tenant.reopen('a test'));
  await waitForProjection(projectionPlatform.reads, log, 'tenants');
  const closedTenants = async () =>
    (await Array.fromAsync(log.readAll())).filter(({ type }) => type === 'TenantClosed').map(({ id }) => id);
  now -= 10 * DAY;
  await pause(200);
  assert.equal(await closedTenants(), []);
  await Promise.all(workers.map((one) => one.close()));
  now += 41 * DAY;
  workers = [start(), start()];
  await waitUntil('it is closed', closedTenants, (found) => found.length > 0);
  await waitForProjection(projectionPlatform.reads, log, 'tenants');
  await pause(200);
  await Promise.all(workers.map((one) => one.close()));
  workers = [start()];
  await pause(200);
  assert.equal(await closedTenants(), [due]);
  assert.equal(await query(databaseUrl, 'select id, closes_at from tenants.tenants where closes_at is not null or closed'), [
    { id: due, closes_at: null },
  ]);
  await Promise.all(workers.map((one) => one.close()));
  await projectionPlatform.close();
  await log.close();
  await store.end();
});

test.run();
