import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Logger } from 'pino';

const TIMESTAMPTZ = 1184;

/** Times as projections write them, RFC 3339 with milliseconds in UTC; 64-bit integers as numbers (ours are safe ones). */
const parsers: Partial<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: Number,
  [TIMESTAMPTZ]: (text) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z')).toISOString(),
};

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (format !== 'binary' && parsers[oid]) || pg.types.getTypeParser(oid, format as 'text'),
};

const STATEMENT_MS = 60_000;
/** The server ends a statement before that: what has no answer by then comes from nowhere any more, and the system would wait a quarter of an hour. */
export const CONNECTION_TIMEOUT_MS = STATEMENT_MS + 5_000;

/** Rows are found by key or in index order, whatever a fresh table's statistics say; compiling plans never pays here. */
const always = `-c timezone=UTC -c datestyle=ISO -c jit=off -c enable_seqscan=off -c statement_timeout=${STATEMENT_MS}`;

export const connection = (databaseUrl: string, name: string, options = ''): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: `annals ${name}`,
  options: `${always} ${options}`,
  types,
  keepAlive: true,
  connectionTimeoutMillis: 3_000,
});

/**
 * Opens a pool; nothing is connected until the first query, and one connection stays behind the last: a new one knows no table and no statement
 * yet, which is some tens of milliseconds for whoever comes after a quiet minute. `name` is what the server's list of activity shows. A query
 * that has no answer after `answerMs` fails, and its connection is closed: what comes there late is nobody else's.
 */
export const openPool = (
  databaseUrl: string,
  logger: Logger,
  name: string,
  { max = 5, options = '', pipeline = false, answerMs = 0 } = {},
): pg.Pool => {
  const pool = new pg.Pool({
    ...connection(databaseUrl, name, options),
    ...(answerMs > 0 ? { query_timeout: answerMs } : {}),
    min: 1,
    max,
    pipeline,
    idleTimeoutMillis: 60_000,
  });
  pool.on('error', ({ message }) => logger.debug({ pool: name, reason: message }, 'a database connection was lost'));
  // A connection that is lost while it is lent out says so twice: to whoever waits for an answer, and here.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
};

/** A statement's name: one statement is prepared once a connection, and another text never takes its place. */
export const statement = (text: string): { name: string; text: string } => ({
  name: `annals_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`,
  text,
});

/** Connection, operator's intervention, resources, no such database, not let in: none of them an answer about the statement. */
const down = /^(08|57|53|3D|28|25P0[34])/;
const codes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Whether the database is out of reach, as against an answer that it gave. */
export const isDown = (error: unknown): boolean => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (
    codes.has(code) ||
    down.test(code) ||
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|not queryable|connection error/i.test(message)
  );
};

/** Whether the database refused a value: too long for an index, not unique, of a wrong form. */
export const isRefusedValue = (error: unknown): boolean => /^(22|23|54)/.test((error as { code?: string }).code ?? '');

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const plain = /^[^"\\]*$/;
const element = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return plain.test(value) ? `"${value}"` : `"${value.replace(/["\\]/g, '\\$&')}"`;
};

/** Postgres' text form of an array: built here, because the driver's own is a large part of a batch's time. */
export const arrayText = (values: readonly unknown[]): string => {
  let text = '{';
  for (let index = 0; index < values.length; index++) text += index === 0 ? element(values[index]) : `,${element(values[index])}`;
  return `${text}}`;
};
