import type { Change } from '../projection.ts';
import { type Table, tenantColumnOf } from '../table.ts';

/** Whether a tenant was erased. */
export type IsErased = (tenant: string) => boolean;

/**
 * Whether a change would write a row of an erased tenant. This is so for tables whose rows name their tenant, and that
 * do not keep the rows of erased tenants. Rows may always be removed.
 * A row with the id of the tenant itself stays: the platform's audit log takes the tenant's name from it.
 */
export const isOfErasedTenant = (table: Table, change: Change, isErased: IsErased): boolean => {
  const column = tenantColumnOf(table);
  if (column === null || change.op === 'remove') return false;
  const row = change.op === 'insert' ? change.row : change.key;
  const tenant = row[column];
  return typeof tenant === 'string' && row.id !== tenant && isErased(tenant);
};
