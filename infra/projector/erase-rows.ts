import type pg from 'pg';
import type { Position } from '../../domain/event.ts';
import { platformTable } from '../../projections/audit/audit-log.ts';

/** The platform's own audit log keeps its entries about the tenant. */
const KEPT_TABLE = platformTable.name;

const SQL = {
  behind: `select name from annals.checkpoints where name = any($1::text[]) and commit_position < $2::bigint`,
  tables: `select table_schema as schema, table_name as name from information_schema.columns join annals.checkpoints c on c.name = table_schema
    where column_name = 'tenant_id' and table_name <> $1`,
  limits: `delete from annals.limits where key = $1 or key like '% ' || $1`,
  windows: `delete from annals.windows where key like '%' || $1 || '%'`,
};

/** The names of the projections that have not yet applied the event at this position. @throws errors of the database */
export const projectionsBehind = async (db: pg.Client, names: readonly string[], { commit }: Position): Promise<readonly string[]> => {
  const { rows } = await db.query<{ name: string }>(SQL.behind, [names, String(commit)]);
  return rows.map(({ name }) => name);
};

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Removes the rows of a tenant from the tables of all projections and from those of the rate limits, and has Postgres
 * free their space. @returns how many rows it has removed @throws errors of the database
 */
export const eraseTenantRows = async (db: pg.Client, tenant: string): Promise<number> => {
  const { rows: tables } = await db.query<{ schema: string; name: string }>(SQL.tables, [KEPT_TABLE]);
  let count = 0;
  for (const { schema, name } of tables) {
    const table = `${quoted(schema)}.${quoted(name)}`;
    const { rowCount } = await db.query(`delete from ${table} where tenant_id = $1`, [tenant]);
    if (rowCount) await db.query(`vacuum ${table}`);
    count += rowCount ?? 0;
  }
  await db.query(SQL.limits, [tenant]);
  await db.query(SQL.windows, [tenant]);
  return count;
};
