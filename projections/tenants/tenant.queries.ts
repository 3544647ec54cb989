import { containsPattern, defineList, defineQuery } from '../query.ts';
import { byKey, type Page, type PageWindow, type Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminTenantRead, activity, table, tenants } from './tenant.ts';

export const TENANT_SORTS = sortFields(table, AdminTenantRead);

const tenantList = defineList({ table }, (db, { pattern }: { pattern: string | undefined }) =>
  db.selectFrom('tenants.tenants as tenant').$if(pattern !== undefined, (query) => query.where('tenant.search', 'ilike', pattern!)),
);

/** Returns a page of tenants, as AdminTenantRead. `q` filters by a part of the name, the slug or the id. */
export const tenantPage = (reads: Reads, q: string | undefined, window: PageWindow): Promise<Page> =>
  reads.page(tenantList, { pattern: q === undefined ? q : containsPattern(q) }, window);

/** Returns when an API key of the tenant was last used (RFC 3339); null if never. */
export const lastActiveAt = async (reads: Reads, tenant_id: string): Promise<string | null> => {
  const from = { projection: tenants.name, table: activity };
  const found = await byKey<{ last_active_at: string | null }, typeof activity>(reads, from, { tenant_id });
  return found?.last_active_at ?? null;
};

/** The maximum number of tenants that `tenantsDueAt` returns. */
const MAX_DUE_TENANTS = 200;

const dueTenants = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('tenants.tenants as tenant')
    .select('tenant.id')
    .where('tenant.closes_at', '<=', at)
    .orderBy('tenant.closes_at')
    .limit(({ lit }) => lit(MAX_DUE_TENANTS)),
);

/**
 * Returns the ids of the tenants that must be closed for good at the time `at`. Those that have been due for longest
 * come first.
 */
export const tenantsDueAt = async (reads: Pick<Reads, 'rows'>, at: string): Promise<string[]> =>
  (await reads.rows(dueTenants, { at })).map(({ id }) => id);

const names = defineQuery((db, { ids }: { readonly ids: readonly string[] }) =>
  db
    .selectFrom('tenants.tenants as tenant')
    .where(({ eb, fn, val }) => eb('tenant.id', '=', fn.any(val(ids))))
    .select(['tenant.id', 'tenant.name']),
);

/** Returns the names of these tenants, by their ids. */
export const tenantNames = async (reads: Pick<Reads, 'rows'>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map(ids.length === 0 ? [] : (await reads.rows(names, { ids })).map(({ id, name }) => [id!, name!]));
