import type { Change } from '../projection.ts';
import { type Table, tenantColumnOf } from '../table.ts';

/** Whether a tenant was erased. */
export type IsErased = (tenant: string) => boolean;

/**
 * Whether a change would write a row of an erased tenant. Only tables with a tenant column count, unless they keep the
 * rows of erased tenants. Rows may always be removed. A row whose id is the id of the tenant itself may be written,
 * because the platform's audit log takes the tenant's name from it.
 */
export const isOfErasedTenant = (table: Table, change: Change, isErased: IsErased): boolean => {
  const column = tenantColumnOf(table);
  if (column === null || change.op === 'remove') return false;
  const row = change.op === 'insert' ? change.row : change.key;
  const tenant = row[column];
  return typeof tenant === 'string' && row.id !== tenant && isErased(tenant);
};
