import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Logger } from 'pino';

const TIMESTAMPTZ = 1184;

/**
 * Times are read as RFC 3339 with milliseconds in UTC, as projections write them; 64-bit integers as numbers (ours are
 * safe integers).
 */
const parsers: Partial<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: Number,
  [TIMESTAMPTZ]: (text) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z')).toISOString(),
};

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (format !== 'binary' && parsers[oid]) || pg.types.getTypeParser(oid, format as 'text'),
};

const STATEMENT_TIMEOUT_MS = 60_000;
/**
 * The server cancels a statement earlier than this, so a query without an answer by then is on a dead connection. The
 * operating system would wait a quarter of an hour.
 */
export const CONNECTION_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000;

/**
 * Queries find rows by key or in index order, whatever the statistics of a new table suggest. Compiling plans never
 * pays here.
 */
const COMMON_OPTIONS = `-c timezone=UTC -c datestyle=ISO -c jit=off -c enable_seqscan=off -c statement_timeout=${STATEMENT_TIMEOUT_MS}`;

/** The configuration of a connection. The server shows it as `annals <name>` in its list of activity. */
export const connectionConfig = (databaseUrl: string, name: string, options = ''): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: `annals ${name}`,
  options: `${COMMON_OPTIONS} ${options}`,
  types,
  keepAlive: true,
  connectionTimeoutMillis: 3_000,
});

/**
 * Opens a pool. It connects with the first query, and always keeps one connection open: on a new connection the first
 * query after a quiet minute would take tens of milliseconds more, because the server has no tables and statements
 * cached for it. `name` is shown in the server's list of activity. A query that has no answer after `queryTimeoutMs`
 * milliseconds fails (0: never); its connection is closed, so that a late answer cannot reach another query.
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
  // If a connection is lost while it is in use, the query fails with that error too, so there is nothing to do here.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
};

/** A prepared statement. Its name derives from its text, so each text is prepared once per connection. */
export const preparedStatement = (text: string): { name: string; text: string } => ({
  name: `annals_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`,
  text,
});

/**
 * Error classes for connection, operator intervention, resources, missing database and authentication: none concerns
 * the statement itself.
 */
const UNAVAILABLE_CODES = /^(08|57|53|3D|28|25P0[34])/;
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

/** Whether an error means that the database is unavailable, as opposed to an error about the statement. */
export const isUnavailable = (error: unknown): boolean => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (
    NETWORK_CODES.has(code) ||
    UNAVAILABLE_CODES.test(code) ||
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|not queryable|connection error/i.test(message)
  );
};

/** Whether the database refused a value: too long for an index, not unique, or malformed. */
export const isRefusedValue = (error: unknown): boolean => /^(22|23|54)/.test((error as { code?: string }).code ?? '');

/** Quotes an identifier for use in SQL. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const NEEDS_NO_ESCAPE = /^[^"\\]*$/;
const element = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return NEEDS_NO_ESCAPE.test(value) ? `"${value}"` : `"${value.replace(/["\\]/g, '\\$&')}"`;
};

/** The text form of a Postgres array. The driver's own function would take a large part of the time of a batch. */
export const arrayText = (values: readonly unknown[]): string => {
  let text = '{';
  for (let index = 0; index < values.length; index++) text += index === 0 ? element(values[index]) : `,${element(values[index])}`;
  return `${text}}`;
};
