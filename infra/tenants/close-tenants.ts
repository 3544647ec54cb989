import { closeTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import { tenantsDueAt } from '../../projections/tenants/tenant.queries.ts';
import { timed } from '../reactors/timed.ts';

export const closings = timed({
  lock: 'reactor tenant closings',
  everyMs: 5 * 60_000,
  failure: 'tenants cannot be closed now; trying again',
  seed: 'closed',
  due: tenantsDueAt,
  handle: closeTenant,
  done: (logger, tenants) => logger.info({ tenants }, 'tenants were closed for good'),
});
