import { closeTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import { tenantsDueAt } from '../../projections/tenants/tenant.queries.ts';
import { ignoreErased, reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';

const INTERVAL_MS = 5 * 60_000;
const LOCK = 'reactor tenant closings';
const SEED = 'closed';

/** Closes those of the tenants that are due at `at` (RFC 3339 UTC) according to their events. */
export const closeTenants = async (log: Log, ids: readonly string[], at: string): Promise<void> => {
  const ctx = reactorContext(log, { at, seed: SEED });
  for (const id of ids) await closeTenant(ctx, id).catch(ignoreErased);
};

/** Checks every five minutes whether tenants must be closed for good. If none is due, this costs one index look-up. */
export const startTenantCloser = ({ log, ...parts }: TimedReactorParts & { readonly log: Log }) =>
  startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'tenants cannot be closed now; trying again',
      run: async (reads, at) => {
        const ids = await tenantsDueAt(reads, at);
        await closeTenants(log, ids, at);
        if (ids.length > 0) parts.logger.info({ tenants: ids }, 'tenants were closed for good');
        return false;
      },
    },
    parts,
  );
