import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClosingOptions, closeDueTenants, type TransactTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

const AT = '2026-02-01T00:00:00.000Z';
const closing = (closes_at: string): Tenant.Tenant => ({ ...Tenant.initial, status: 'closing', closes_at });

/**
 * Creates a substitute for `transact` that knows only these tenants, by id. Any other tenant is treated as erased.
 * `closed` collects the ids of the tenants that were closed, `options` the options of each call.
 */
const tenantsOf = (tenants: Readonly<Record<string, Tenant.Tenant>>) => {
  const closed: string[] = [];
  const options: ClosingOptions[] = [];
  const transact: TransactTenant = async (id, decide, each) => {
    const tenant = tenants[id];
    if (!tenant) throw new Refusal('not_found', 'erased');
    options.push(each);
    if (decide(tenant).some(({ type }) => type === 'TenantClosed')) closed.push(id);
  };
  return { transact, closed, options };
};

test('only those due tenants of the read model are closed whose waiting period in the log is over', async () => {
  const active: Tenant.Tenant = { ...Tenant.initial, status: 'active' };
  const { transact, closed } = tenantsOf({ due: closing(AT), early: closing('2026-02-01T00:00:00.001Z'), active });
  await closeDueTenants(transact, ['due', 'early', 'active'], AT);
  assert.equal(closed, ['due']);
});

test('if one of the tenants that are due to be closed has been erased, the others are still closed', async () => {
  const { transact, closed } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['erased', 'due'], AT);
  assert.equal(closed, ['due']);
});

test('if closing a tenant fails for another reason than a missing tenant, the error is thrown', async () => {
  const unavailable = new Refusal('unavailable', 'the log is down');
  const error = await closeDueTenants(() => Promise.reject(unavailable), ['due'], AT).catch((thrown: unknown) => thrown);
  assert.is(error, unavailable);
});

test('the event that closes a tenant has the platform as its actor, and always the same id for the same closing', async () => {
  const { transact, options } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['due'], AT);
  assert.equal(options, [{ actor: { kind: 'system', id: 'annals' }, at: AT, seed: 'closed' }]);
});

test.run();
