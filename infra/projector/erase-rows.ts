import type pg from 'pg';
import type { Position } from '../../domain/event.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import { quoteIdentifier } from '../postgres/pool.ts';
import { shadowSchemaOf } from './open-projection.ts';

const KEPT_TABLES = projections
  .flatMap(({ tables }: AnyProjection) => tables.filter((table) => table.isKeptAfterErasure))
  .map(({ name }) => name);
const ROWS_PER_BATCH = 10_000;
/** The schemas of the tables that queries read. */
const LIVE = projections.map(({ name }) => name);
/** The schemas of the tables that are being rebuilt. */
const REBUILT = LIVE.map(shadowSchemaOf);

const SQL = {
  behind: 'select name from annals.checkpoints where name = any($1::text[]) and commit_position < $2::bigint',
  tables: `select table_schema as schema, table_name as name, column_name as column from information_schema.columns
    join annals.checkpoints c on c.name = table_schema
    where (column_name = 'tenant_id' or column_name = 'of_tenant') and table_name <> all($1::text[])`,
  parked: `delete from annals.parked where stream like '%-' || $1 || '.%'`,
  limits: `delete from annals.limits where key = $1 or key like '% ' || $1`,
  windows: `delete from annals.windows where starts_with(key, $1 || ' ')`,
};

/**
 * Maps the name of a column with a tenant id to the condition that selects the rows of a tenant. The row that describes
 * the tenant itself is kept, because the platform's audit log takes the tenant's name from it.
 */
const CONDITIONS: Readonly<Record<string, string>> = {
  tenant_id: 'tenant_id = $1',
  of_tenant: 'of_tenant = $1 and id <> $1',
};

/** Called with the name of each step before the step starts. */
export type OnStep = (step: string) => void;

type TenantTable = { readonly schema: string; readonly name: string; readonly column: string };

const namesBehind = async (db: pg.Client, names: readonly string[], { commit }: Position): Promise<readonly string[]> =>
  (await db.query<{ name: string }>(SQL.behind, [names, String(commit)])).rows.map(({ name }) => name);

/**
 * Returns the names of the projections that have not yet applied the event at this position.
 * @throws errors of the database
 */
export const projectionsBehind = (db: pg.Client, position: Position): Promise<readonly string[]> => namesBehind(db, LIVE, position);

/**
 * Returns the names of the rebuilds that have not yet applied the event at this position.
 * @throws errors of the database
 */
export const rebuildsBehind = (db: pg.Client, position: Position): Promise<readonly string[]> => namesBehind(db, REBUILT, position);

/**
 * Removes the rows of a tenant from the tables of all projections and rebuilds, from the parked events and from the
 * rate limits, and makes Postgres free their space. At most 10,000 rows are deleted at once, so that an interrupted
 * attempt loses little and other queries need not wait.
 * @returns the number of removed rows of projections
 * @throws errors of the database
 */
export const eraseTenantRows = async (db: pg.Client, tenant: string, onStep: OnStep = () => {}): Promise<number> => {
  const { rows: tables } = await db.query<TenantTable>(SQL.tables, [KEPT_TABLES]);
  let count = 0;
  for (const { schema, name, column } of tables) {
    const table = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
    onStep(`remove the rows of ${schema}.${name}`);
    const some = `select ctid from ${table} where ${CONDITIONS[column]} limit ${ROWS_PER_BATCH}`;
    for (let isMoreLeft = true; isMoreLeft; ) {
      const { rowCount } = await db.query(`delete from ${table} where ctid = any(array(${some}))`, [tenant]);
      count += rowCount ?? 0;
      isMoreLeft = rowCount === ROWS_PER_BATCH;
    }
    // The space is freed even if this attempt deleted nothing, because an interrupted attempt may have deleted rows.
    await db.query(`vacuum ${table}`);
  }
  for (const sql of [SQL.parked, SQL.limits, SQL.windows]) await db.query(sql, [tenant]);
  return count;
};
