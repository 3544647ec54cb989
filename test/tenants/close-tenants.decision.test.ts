import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClosingOptions, closeDueTenants, type TransactTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

const AT = '2026-02-01T00:00:00.000Z';
const closing = (closes_at: string): Tenant.Tenant => ({ ...Tenant.initial, status: 'closing', closes_at });

/**
 * Creates a substitute for `transact` for the given tenants. Any other tenant counts as erased. `closed` has the ids of
 * the tenants that were closed, and `options` the options of each call.
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

test('of the tenants that the read model lists as due for closing, only those are closed whose waiting period is over according to the log', async () => {
  const active: Tenant.Tenant = { ...Tenant.initial, status: 'active' };
  const { transact, closed } = tenantsOf({ due: closing(AT), early: closing('2026-02-01T00:00:00.001Z'), active });
  await closeDueTenants(transact, ['due', 'early', 'active'], AT);
  assert.equal(closed, ['due']);
});

test('if one of the tenants that are due for closing is erased already, the others are still closed', async () => {
  const { transact, closed } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['erased', 'due'], AT);
  assert.equal(closed, ['due']);
});

test('if closing a tenant fails for another reason than that the tenant does not exist, the error is thrown', async () => {
  const unavailable = new Refusal('unavailable', 'the log is down');
  const error = await closeDueTenants(() => Promise.reject(unavailable), ['due'], AT).catch((thrown: unknown) => thrown);
  assert.is(error, unavailable);
});

test('the event that closes a tenant has the platform as its actor; repeating the same closing yields an event with the same id', async () => {
  const { transact, options } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['due'], AT);
  assert.equal(options, [{ actor: { kind: 'system', id: 'annals' }, at: AT, seed: 'closed' }]);
});

test.run();
