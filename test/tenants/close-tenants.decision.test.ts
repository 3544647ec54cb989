import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClosingOptions, closeDueTenants, type TransactTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

const AT = '2026-02-01T00:00:00.000Z';
const closing = (closes_at: string): Tenant.Tenant => ({ ...Tenant.initial, status: 'closing', closes_at });

/**
 * Creates a `transact` over these tenants, which are given by id. It behaves as if tenants that are not listed were
 * erased.
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

test('a tenant is closed only if its waiting period is over, even if the read model lists others as due', async () => {
  const active: Tenant.Tenant = { ...Tenant.initial, status: 'active' };
  const { transact, closed } = tenantsOf({ due: closing(AT), early: closing('2026-02-01T00:00:00.001Z'), active });
  await closeDueTenants(transact, ['due', 'early', 'active'], AT);
  assert.equal(closed, ['due']);
});

test('if one of the due tenants has been erased, the others are still closed', async () => {
  const { transact, closed } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['erased', 'due'], AT);
  assert.equal(closed, ['due']);
});

test('an error other than a missing tenant is passed on to the caller', async () => {
  const unavailable = new Refusal('unavailable', 'the log is down');
  const error = await closeDueTenants(() => Promise.reject(unavailable), ['due'], AT).catch((thrown: unknown) => thrown);
  assert.is(error, unavailable);
});

test('the platform is the actor of the event, and its id is always derived from the same seed', async () => {
  const { transact, options } = tenantsOf({ due: closing(AT) });
  await closeDueTenants(transact, ['due'], AT);
  assert.equal(options, [{ actor: { kind: 'system', id: 'annals' }, at: AT, seed: 'closed' }]);
});

test.run();
