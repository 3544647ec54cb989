import { closeDueTenants, type TransactTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { tenantsDueAt } from '../../projections/tenants/tenant.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 5 * 60_000;
const LOCK = 'reactor tenant closings';

/**
 * Returns a function that closes tenants with `closeDueTenants`. Its argument `at` is the current time (RFC 3339 UTC).
 */
export const tenantCloser = (log: Log) => {
  const transact = createTransact(log, openAggregateCache(log, []));
  const transactTenant: TransactTenant = (id, decide, { actor, at, seed }) =>
    transact({ aggregate: Tenant, tenant: id, id, decide, meta: { tenant: id, actor, at, v: 1 }, seed });
  return (tenantIds: readonly string[], at: string): Promise<void> => closeDueTenants(transactTenant, tenantIds, at);
};

/**
 * Starts the reactor that checks every five minutes whether tenants must be closed for good, and closes them. If none
 * is due, a check costs one index look-up.
 */
export const startTenantCloser = ({ log, ...parts }: TimedReactorParts & { readonly log: Log }) => {
  const close = tenantCloser(log);
  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'tenants cannot be closed now; trying again',
      run: async (reads, at) => {
        const ids = await tenantsDueAt(reads, at);
        await close(ids, at);
        if (ids.length > 0) parts.logger.info({ tenants: ids }, 'tenants were closed for good');
        return false;
      },
    },
    parts,
  );
};
