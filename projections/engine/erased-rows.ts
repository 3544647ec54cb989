import type { Change } from '../projection.ts';
import { type Table, tenantColumnOf } from '../table.ts';

export type IsErased = (tenant: string) => boolean;

/**
 * Returns whether a change would write a row of an erased tenant. This concerns tables with a tenant column, except
 * those that keep the rows of erased tenants. Removing a row is always allowed. So is writing the row of the tenant
 * itself, because the platform's audit log takes the tenant's name from there.
 */
export const isOfErasedTenant = (table: Table, change: Change, isErased: IsErased): boolean => {
  const column = tenantColumnOf(table);
  if (column === null || change.op === 'remove') return false;
  const row = change.op === 'insert' ? change.row : change.key;
  const tenant = row[column];
  return typeof tenant === 'string' && row.id !== tenant && isErased(tenant);
};
