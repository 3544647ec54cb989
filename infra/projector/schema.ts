import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { AnyProjection } from '../../projections/projection.ts';
import { SEARCH_KEY_LENGTH } from '../../projections/query.ts';
import type { ColumnType, Table } from '../../projections/table.ts';
import { quoteIdentifier } from '../postgres/pool.ts';

/**
 * The number of the advisory lock that a process holds while it creates, renames or drops schemas. The lock prevents
 * conflicts in PostgreSQL's catalog between processes that start at the same time.
 */
const SCHEMA_LOCK = 7_204_118_302;

const systemTables = `
create schema if not exists annals;
create table if not exists annals.checkpoints (
  name text collate "C" primary key, version integer not null, shape text not null,
  commit_position bigint not null default -1, prepare_position bigint not null default -1, at text,
  moved_at timestamptz not null default now()
) with (fillfactor = 50);
create table if not exists annals.parked (
  projection text collate "C" not null, stream text collate "C" not null, revision bigint not null,
  event_id text not null, type text not null, first boolean not null, reason text not null,
  commit_position bigint not null, prepare_position bigint not null, event_at text not null,
  parked_at timestamptz not null default now(), attempts integer not null default 1, primary key (projection, stream, revision)
);
alter table annals.parked add column if not exists attempts integer not null default 1;
create table if not exists annals.statuses (
  name text collate "C" primary key, status jsonb not null, seen_at timestamptz not null default now()
);
create table if not exists annals.reactors (
  name text collate "C" not null, writer text collate "C" not null, works boolean not null, reason text,
  seen_at timestamptz not null default now(), primary key (name, writer)
);
alter table annals.reactors add column if not exists remedy text;
create table if not exists annals.processes (
  name text collate "C" primary key, kind text not null, version text not null, build text, node text not null,
  started_at timestamptz not null, seen_at timestamptz not null default now()
);
create table if not exists annals.requests (
  id bigint generated always as identity primary key, kind text not null, projection text not null, stream text,
  asked_at timestamptz not null default now(), taken_at timestamptz, done_at timestamptz, outcome jsonb
);
alter table annals.requests add column if not exists asked_by jsonb, add column if not exists reason text,
  add column if not exists rebuild bigint;
create table if not exists annals.drift_samples (
  projection text collate "C" primary key, sampled_at timestamptz not null default now(), sampled integer not null,
  differing integer not null, first_diverging_event text
);
create table if not exists annals.erased_tenants (tenant text collate "C" primary key);
create table if not exists annals.erasure_search (
  one boolean primary key, commit_position bigint not null, prepare_position bigint not null
);
create table if not exists annals.followers (
  name text collate "C" primary key, commit_position bigint not null, prepare_position bigint not null
);
create unlogged table if not exists annals.limits (key text collate "C" primary key, full_at double precision not null);
create unlogged table if not exists annals.windows (
  key text collate "C" primary key, version integer not null, state text not null, expires_at double precision not null
);`;

/** Runs `work` in a transaction that holds `SCHEMA_LOCK`. */
export const withSchemaLock = async <T>(client: ClientBase, work: () => Promise<T>): Promise<T> => {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
};

/**
 * Creates the missing tables of the schema `annals`, and the extensions for searches, if the server has them and the
 * user may create them. Without these extensions, a search reads all rows of the tenant.
 */
export const createSystemTables = async (client: ClientBase): Promise<void> => {
  await withSchemaLock(client, () => client.query(systemTables));
  await withSchemaLock(client, () =>
    client.query('create extension if not exists pg_trgm; create extension if not exists btree_gin'),
  ).catch(() => {});
};

/** Returns whether a worker has created the tables of the schema `annals` in this database. */
export const hasSystemTables = async (client: Pick<ClientBase, 'query'>): Promise<boolean> => {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass('annals.reactors') is not null as exists");
  return rows[0]!.exists;
};

type ServerFacts = { version: string; number: number; may_create: boolean; read_only: boolean; foreign_schemas: string | null };

/**
 * Reads the facts that decide whether Annals can use a database: the version of the server, as text and as number, whether the user may
 * create schemas, and whether the database accepts no changes. `foreign_schemas` lists schemas of another application. They have the name
 * of a projection, but there is no table of checkpoints. Annals always creates that table first.
 */
export const readServerFacts = async (client: Pick<ClientBase, 'query'>, projectionNames: readonly string[]): Promise<ServerFacts> => {
  const { rows } = await client.query<ServerFacts>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
      has_database_privilege(current_database(), 'create') as may_create,
      pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as read_only,
      (select string_agg(nspname, ', ') from pg_namespace
        where nspname = any($1) and to_regclass('annals.checkpoints') is null) as foreign_schemas`,
    [projectionNames],
  );
  return rows[0]!;
};

/**
 * Returns the quoted name of the schema that contains the operator class for trigram indexes; null if an extension for
 * searches is missing.
 */
const trigramSchema = async (client: ClientBase): Promise<string | null> => {
  const { rows } = await client.query<{ schema: string }>(
    `select quote_ident(nspname) as schema from pg_opclass join pg_namespace on pg_namespace.oid = opcnamespace
     where opcname = 'gin_trgm_ops' and exists (select from pg_extension where extname = 'btree_gin')`,
  );
  return rows[0]?.schema ?? null;
};

/** Returns whether the database has the extensions for searches. */
export const hasTrigrams = async (client: ClientBase): Promise<boolean> => (await trigramSchema(client)) !== null;

const columnSql = (name: string, type: ColumnType, rest = ''): string =>
  `${quoteIdentifier(name)} ${type}${type === 'text' ? ' collate "C"' : ''}${rest}`;

/**
 * Returns the SQL of the column in which users search. Postgres computes it from `columns`. Its collation makes `ilike`
 * ignore case.
 */
const searchColumnSql = (columns: readonly string[]): string => {
  const text = columns.map((column) => `coalesce(${quoteIdentifier(column)}, '')`).join(` || e'\\n' || `);
  return `search text collate "default" generated always as (${text}) stored`;
};

const searchIndexSql = (name: string, { columns }: Table, trigrams: string): string =>
  `create index on ${name} using gin (${columns.tenant_id ? 'tenant_id, ' : ''}search ${trigrams}.gin_trgm_ops)`;

/** Returns the SQL of an index for searches by the start of a text (see `searchKey`). */
const prefixIndexSql = (name: string, { columns, key }: Table): string =>
  `create index on ${name} (${columns.tenant_id ? 'tenant_id, ' : ''}(lower(left(search, ${SEARCH_KEY_LENGTH})) collate "C"), ${quoteIdentifier(key.at(-1)!)})`;

const tableSql = (schema: string, table: Table, trigrams: string | null): string[] => {
  const name = `${quoteIdentifier(schema)}.${quoteIdentifier(table.name)}`;
  const lines = [
    ...Object.entries(table.columns).map(([column, type]) => columnSql(column, type, table.key.includes(column) ? ' not null' : '')),
    ...(table.counters ?? []).map((counter) => columnSql(counter, 'bigint', ' not null default 0')),
    ...Object.keys(table.docs).map((doc) => `${quoteIdentifier(doc)} text not null`),
    ...(table.search ? [searchColumnSql(table.search)] : []),
    'revision bigint',
    'touched text not null',
    `primary key (${table.key.map(quoteIdentifier).join(', ')})`,
  ];
  const indexes = (table.indexes ?? []).map(
    ({ columns, unique, withoutNull }) =>
      `create ${unique ? 'unique ' : ''}index on ${name} (${columns.map(quoteIdentifier).join(', ')})` +
      (withoutNull ? ` where ${quoteIdentifier(withoutNull)} is not null` : ''),
  );
  const prefixIndex = table.search ? [prefixIndexSql(name, table)] : [];
  const searchIndex = table.search && trigrams ? [searchIndexSql(name, table, trigrams)] : [];
  return [`create table ${name} (${lines.join(', ')}) with (fillfactor = 85)`, ...indexes, ...prefixIndex, ...searchIndex];
};

/**
 * Returns the SQL statements that create a projection's tables in the new schema `schema`. `trigrams` is the schema of
 * the extension for searches. If it is null, tables have no index for searches.
 */
const schemaSql = (schema: string, { tables }: AnyProjection, trigrams: string | null): string[] => [
  `create schema ${quoteIdentifier(schema)}`,
  ...tables.flatMap((table) => tableSql(schema, table, trigrams)),
];

/**
 * Returns the shape of a projection, which is a digest of its table definitions. If the shape of the stored tables is
 * different, the projection cannot write to them and must be rebuilt.
 */
export const shapeOf = (projection: AnyProjection): string =>
  createHash('sha256')
    .update(schemaSql('shape', projection, 'public').join(';'))
    .digest('base64url')
    .slice(0, 22);

/**
 * Checks that no other application has created a schema. When a projector creates a schema, it stores a checkpoint with
 * the schema's name in the same transaction.
 * @throws Error if the schema exists, but no checkpoint has its name
 */
const assertNotForeign = async (client: ClientBase, schema: string): Promise<void> => {
  const foreign = 'select from pg_namespace where nspname = $1 and not exists (select from annals.checkpoints where name = $1)';
  const { rowCount } = await client.query(foreign, [schema]);
  if (rowCount) throw new Error(`another application owns the schema ${schema} in this database: give Annals its own database`);
};

/** Creates the empty schema of a projection, and its checkpoint. A schema with this name that exists is dropped first. */
export const createSchema = (client: ClientBase, schema: string, projection: AnyProjection): Promise<unknown> =>
  withSchemaLock(client, async () => {
    await assertNotForeign(client, schema);
    await client.query(`drop schema if exists ${quoteIdentifier(schema)} cascade`);
    await client.query('delete from annals.parked where projection = $1', [schema]);
    await client.query('delete from annals.checkpoints where name = $1', [schema]);
    await client.query('insert into annals.checkpoints (name, version, shape) values ($1, $2, $3)', [
      schema,
      projection.version,
      shapeOf(projection),
    ]);
    await client.query(schemaSql(schema, projection, await trigramSchema(client)).join(';\n'));
  });

/** Drops a schema with its checkpoint and its parked events. */
export const dropSchema = (client: ClientBase, schema: string): Promise<unknown> =>
  withSchemaLock(client, async () => {
    await client.query(`drop schema if exists ${quoteIdentifier(schema)} cascade`);
    await client.query('delete from annals.parked where projection = $1', [schema]);
    await client.query('delete from annals.checkpoints where name = $1', [schema]);
  });
