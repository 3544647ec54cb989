import type { ClientBase } from 'pg';

type Db = Pick<ClientBase, 'query'>;

/** Returns the time on the clock of Postgres, in milliseconds since 1970. */
export const databaseTime = async (db: Db): Promise<number> => {
  const { rows } = await db.query<{ now: number }>('select extract(epoch from clock_timestamp())::double precision * 1000 as now');
  return rows[0]!.now;
};

export type ParkedCount = { readonly projection: string; readonly events: number };

/** Returns the number of parked events of each projection that has any. The system tables must exist. */
export const parkedCounts = async (db: Db): Promise<ParkedCount[]> => {
  const counted = 'select projection, count(*)::integer as events from annals.parked group by projection order by projection';
  return (await db.query<ParkedCount>(counted)).rows;
};

const READ_MODELS_EXIST =
  "select to_regclass('deliveries.deliveries') is not null and to_regclass('tenants.tenants') is not null as exists";

/** The maximum number of deliveries that `deadDeliveryCount` counts. */
export const MAX_DEAD_COUNTED = 100_000;

/** Counts tenant by tenant, with an index. The table with the deliveries of all tenants may be large. */
const COUNT_DEAD = `select count(*)::integer as count from (
  select from tenants.tenants tenant join deliveries.deliveries delivery on delivery.tenant_id = tenant.id
  where delivery.outcome = 'dead' and delivery.failed_at >= now() - interval '1 day' limit ${MAX_DEAD_COUNTED}) counted`;

/**
 * Returns how many deliveries were given up within the last day, in all tenants, whenever they were received, up to
 * MAX_DEAD_COUNTED; null if there are no read models yet.
 */
export const deadDeliveryCount = async (db: Db): Promise<number | null> => {
  const { rows } = await db.query<{ exists: boolean }>(READ_MODELS_EXIST);
  return rows[0]?.exists ? (await db.query<{ count: number }>(COUNT_DEAD)).rows[0]!.count : null;
};

const COUNT_UNANCHORED = `select count(*)::integer as count, min(unanchored_since) as since from auditheads.heads
  where unanchored_since is not null`;

/**
 * Returns the number of audit heads (signed hashes of audit logs) that have not been posted to AUDIT_ANCHOR_URL.
 * `since` is the time at which the oldest of them was signed (RFC 3339 UTC). Null if there are none.
 */
export const unanchoredHeads = async (db: Db): Promise<{ readonly count: number; readonly since: string } | null> => {
  const { rows } = await db.query<{ exists: boolean }>("select to_regclass('auditheads.heads') is not null as exists");
  if (!rows[0]?.exists) return null;
  const [found] = (await db.query<{ count: number; since: string | null }>(COUNT_UNANCHORED)).rows;
  return found?.since ? { count: found.count, since: new Date(found.since).toISOString() } : null;
};
