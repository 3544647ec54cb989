import { defineList } from '../query.ts';
import { byKey, type Page, type PageWindow, type Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminTenantRead, activity, table, tenants } from './tenant.ts';

export const TENANT_SORTS = sortFields(table, AdminTenantRead);

const tenantList = defineList({ table }, (db) => db.selectFrom('tenants.tenants as tenant'));

/** Returns a page of tenants, as AdminTenantRead. */
export const tenantPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(tenantList, {}, window);

/** Returns when an API key of the tenant was last used (RFC 3339); null if never. */
export const lastActiveAt = async (reads: Reads, tenant_id: string): Promise<string | null> => {
  const from = { projection: tenants.name, table: activity };
  const found = await byKey<{ last_active_at: string | null }, typeof activity>(reads, from, { tenant_id });
  return found?.last_active_at ?? null;
};
