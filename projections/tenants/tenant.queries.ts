import type { Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminTenantRead, activity, table, tenants } from './tenant.ts';

export const TENANT_SORTS = sortFields(table, AdminTenantRead);

/** A page of AdminTenantRead. */
export const tenantPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: tenants.name, table }, where: [], ...window });

/** When the tenant's keys were used last; null: never. */
export const lastActiveAt = async (reads: Reads, tenant_id: string): Promise<string | null> => {
  const found = await reads.one({ projection: tenants.name, table: activity }, { tenant_id });
  return found && (JSON.parse(found.doc) as { last_active_at: string | null }).last_active_at;
};
