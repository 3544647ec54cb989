import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Logger } from 'pino';
import { databaseCause } from './database-cause.ts';

const TIMESTAMPTZ = 1184;

/** The form in which PostgreSQL writes a time of the years 1 to 9999 in UTC with at most milliseconds. */
const PLAIN_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/;

const timeOf = (text: string): string => {
  const plain = PLAIN_TIME.exec(text);
  if (plain) return `${plain[1]}T${plain[2]}.${(plain[3] ?? '').padEnd(3, '0')}Z`;
  return new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z')).toISOString();
};

/**
 * Parsers for values from the database. Times become RFC 3339 in UTC with milliseconds, as projections write them.
 * 64-bit integers become numbers, because all integers of Annals are small enough.
 */
const parsers: Partial<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: Number,
  [TIMESTAMPTZ]: timeOf,
};

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (format !== 'binary' && parsers[oid]) || pg.types.getTypeParser(oid, format as 'text'),
};

const STATEMENT_TIMEOUT_MS = 60_000;
/**
 * The time in milliseconds after which a connection without an answer counts as dead. A working server would have
 * cancelled the statement earlier. The operating system would report a dead connection only after a quarter of an hour.
 */
export const CONNECTION_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000;

/**
 * Options for every session. Table scans are switched off: all queries of Annals can use an index, but PostgreSQL would
 * choose a scan as long as it has no statistics about a new table. JIT compilation is switched off, because it makes
 * short queries slower.
 */
const COMMON_OPTIONS = `-c timezone=UTC -c datestyle=ISO -c jit=off -c enable_seqscan=off -c statement_timeout=${STATEMENT_TIMEOUT_MS}`;

/** Returns the name under which pg_stat_activity lists a connection. */
export const applicationName = (name: string): string => `annals ${name}`;

/** Returns the configuration of a connection. PostgreSQL lists the connection as `annals <name>` in pg_stat_activity. */
export const connectionConfig = (databaseUrl: string, name: string, options = ''): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: applicationName(name),
  options: `${COMMON_OPTIONS} ${options}`,
  types,
  keepAlive: true,
  connectionTimeoutMillis: 3_000,
});

/** PostgreSQL's error codes for a table, a schema and a column that do not exist. */
const MISSING_CODES = ['42P01', '3F000', '42703'];

/**
 * Returns the pool with a `query` that keeps the connection if a table does not exist. The driver's own `query` closes
 * the connection after every error. While the platform starts for the first time, many queries fail in this way, and
 * each would need a new connection.
 */
const keepingConnections = (pool: pg.Pool): pg.Pool => {
  const query = async (config: pg.QueryConfig | string, values?: unknown[]): Promise<pg.QueryResult> => {
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      return await client.query(config, values);
    } catch (error) {
      if (!MISSING_CODES.includes((error as { code?: string }).code ?? '')) broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
    }
  };
  return Object.assign(pool, { query });
};

/**
 * Opens a connection pool, which connects when the first query is sent. From then on, at least one connection stays
 * open, because the first query on a new connection can take tens of milliseconds longer. PostgreSQL shows `name` in
 * its list of connections. A query fails if it has no answer after `queryTimeoutMs` milliseconds (0: no limit); its
 * connection is then closed, so that a late answer is not taken for the answer to another query.
 */
export const openPool = (
  databaseUrl: string,
  logger: Logger,
  name: string,
  { max = 5, options = '', pipeline = false, queryTimeoutMs = 0 } = {},
): pg.Pool => {
  const pool = new pg.Pool({
    ...connectionConfig(databaseUrl, name, options),
    ...(queryTimeoutMs > 0 ? { query_timeout: queryTimeoutMs } : {}),
    min: 1,
    max,
    pipeline,
    idleTimeoutMillis: 60_000,
  });
  pool.on('error', ({ message }) => logger.debug({ pool: name, reason: message }, 'a database connection was lost'));
  // Without this handler, the error of a lost connection would end the process. The handler ignores the error, because
  // a query on that connection fails with the same error.
  pool.on('connect', (client) => client.on('error', () => {}));
  return keepingConnections(pool);
};

/** Resolves if the database answers a query. @throws Error with the reason if it does not */
export const pingDatabase = (db: Pick<pg.Pool, 'query'>): Promise<null> => db.query('select 1').then(() => null);

export const isReachable = (pool: pg.Pool): Promise<boolean> =>
  pingDatabase(pool).then(
    () => true,
    () => false,
  );

/** Returns a prepared statement. Its name is derived from its text, so that each connection prepares the same text only once. */
export const preparedStatement = (text: string): { name: string; text: string } => ({
  name: `annals_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`,
  text,
});

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Returns whether an error means that the database is unavailable. False for errors that the statement caused. */
export const isUnavailable = (error: unknown): boolean => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (
    NETWORK_CODES.has(code) ||
    databaseCause(error) !== null ||
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|not queryable|connection error/i.test(message)
  );
};

/** Returns whether the database rejected a value: it is too long for an index, violates a constraint, or is malformed. */
export const isRefusedValue = (error: unknown): boolean => /^(22|23|54)/.test((error as { code?: string }).code ?? '');

export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const NEEDS_NO_ESCAPE = /^[^"\\]*$/;
const element = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return NEEDS_NO_ESCAPE.test(value) ? `"${value}"` : `"${value.replace(/["\\]/g, '\\$&')}"`;
};

/**
 * Formats values as the text of a PostgreSQL array. It replaces the driver's function, which would take a large part of
 * the time of a batch.
 */
export const arrayText = (values: readonly unknown[]): string => {
  let text = '{';
  for (let index = 0; index < values.length; index++) text += index === 0 ? element(values[index]) : `,${element(values[index])}`;
  return `${text}}`;
};
