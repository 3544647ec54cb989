import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PLATFORM, streamName } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { reactorContext } from '../../infra/aggregates/reactor-context.ts';
import { closeTenants } from '../fixtures/close-tenants.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const AT = '2026-02-01T00:00:00.000Z';

/** Returns a log with these tenants. `closes_at` is null for a tenant that is not closing. */
const logWith = async (tenants: Readonly<Record<string, string | null>>) => {
  const log = memoryLog();
  const ctx = reactorContext(log, { at: '2026-01-01T00:00:00.000Z' });
  for (const [id, closes_at] of Object.entries(tenants)) {
    const created = { name: id, slug: id, plan_id: PLATFORM, billing_email: null, generation: 0 };
    await ctx.inTenant(id).transact(Tenant, id, Tenant.create(created, id));
    if (closes_at !== null) await ctx.inTenant(id).transact(Tenant, id, Tenant.close('a test', closes_at));
  }
  return { log, closed: () => log.events.filter(({ type }) => type === 'TenantClosed') };
};

test('of the tenants that the read model lists as due, only those whose waiting period is over are closed', async () => {
  const { log, closed } = await logWith({ due: AT, early: '2026-02-01T00:00:00.001Z', active: null });
  await closeTenants(log, ['due', 'early', 'active', 'absent'], AT);
  await closeTenants(log, ['due'], AT);
  assert.equal(
    closed().map(({ id }) => id),
    ['due'],
  );
});

test('if one of the tenants that are due for closing is erased already, the others are still closed', async () => {
  const { log, closed } = await logWith({ erased: AT, due: AT });
  await log.tombstone(streamName(Tenant.category, 'erased', 'erased'));
  await closeTenants(log, ['erased', 'due'], AT);
  assert.equal(
    closed().map(({ id }) => id),
    ['due'],
  );
});

test('if closing a tenant fails for another reason than that the tenant does not exist, the error is thrown', async () => {
  const { log } = await logWith({ due: AT });
  log.outage();
  const error = await closeTenants(log, ['due'], AT).catch((thrown: { kind: string }) => thrown);
  assert.is(error?.kind, 'unavailable');
});

test.run();
