import type { Logger } from 'pino';
import { counted } from '../../domain/counted.ts';
import type { ReportKeys } from './data-key-cache.ts';

/** `report` logs each tenant once until its keys can be decrypted again. `degradedParts` has their number for the health check. */
export const createKeyReporter = (logger: Pick<Logger, 'error'>): { report: ReportKeys; degradedParts: () => string[] } => {
  const tenants = new Set<string>();
  return {
    report: (tenant, error) => {
      if (!error) return void tenants.delete(tenant);
      if (!tenants.has(tenant)) logger.error({ tenant, error: error.message }, "the tenant's data key cannot be decrypted: restore it");
      tenants.add(tenant);
    },
    degradedParts: () => (tenants.size === 0 ? [] : [`data keys (of ${counted(tenants.size, 'tenant')})`]),
  };
};
