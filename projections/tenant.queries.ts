import type { Page, PageQuery, Reads } from './reads.ts';
import { table, tenants } from './tenant.ts';

/** A page of AdminTenantRead. */
export const tenantPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: tenants.name, table }, where: [], ...window });
