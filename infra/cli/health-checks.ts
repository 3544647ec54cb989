import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import pg from 'pg';
import { PLATFORM } from '../../domain/event.ts';
import type { WrappedKeys } from '../../domain/wrapped-key.ts';
import { projections } from '../../projections/registry.ts';
import { openLog } from '../eventstore/client.ts';
import { connectNats } from '../nats/connect.ts';
import { assertStreamIsOurs } from '../nats/jetstream.ts';
import { isUnsafeVersion, MIN_SAFE_VERSION } from '../nats/server-version.ts';
import { waitingReactors } from '../projector/reactor-status.ts';
import { type PublishedStatus, publishedStatuses, WORKER_SILENT_SECONDS } from '../projector/status.ts';
import { loadMasterKey } from '../vault/master-key.ts';
import { readWrappedKeys, unwrapKey } from '../vault/wrapped-keys.ts';
import type { ServiceLocations } from './locate-services.ts';

// Each check function below returns one line about its part of the platform. If the part does not work, it throws an
// error of one line.

const CONNECT_TIMEOUT_MS = 5_000;
const MIN_POSTGRES_VERSION = 150_000;
const MIN_FREE_BYTES = 1024 ** 3;

export const checkStore = async (url: string): Promise<string> => {
  const log = openLog(url);
  try {
    const startedAt = performance.now();
    await log.ping();
    const seeded = await log.last('platform-platform.first');
    return `answers in ${Math.round(performance.now() - startedAt)} ms, ${seeded ? 'holds a platform' : 'is empty'}`;
  } finally {
    await log.close();
  }
};

/** Runs a check with its own database connection. */
export const withPostgres = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  return work(client).finally(() => client.end());
};

type ServerRow = { version: string; number: number; may_create: boolean; foreign_schemas: string | null };

/**
 * `foreign_schemas` lists schemas of another application: they have the name of a projection, but the table of
 * checkpoints, which Annals creates first, does not exist.
 */
const SERVER_QUERY = `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
  has_database_privilege(current_database(), 'create') as may_create,
  (select string_agg(nspname, ', ') from pg_namespace where nspname = any($1) and to_regclass('annals.checkpoints') is null) as foreign_schemas`;

export const checkPostgres = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query<ServerRow>(SERVER_QUERY, [projections.map(({ name }) => name)]);
  const { version, number, may_create, foreign_schemas } = rows[0]!;
  if (number < MIN_POSTGRES_VERSION) throw new Error(`version ${version} is older than 15`);
  if (!may_create) throw new Error('the user may not create schemas in this database: grant it CREATE on the database');
  if (foreign_schemas) throw new Error(`the database holds schemas of another application (${foreign_schemas}): use a separate database`);
  return `version ${version}`;
};

/**
 * The projection statuses that workers have published in the database. Empty if no worker has created the tables yet.
 */
const statuses = async (client: pg.Client): Promise<PublishedStatus[]> => {
  const { rows } = await client.query<{ ran: boolean }>("select to_regclass('annals.reactors') is not null as ran");
  return rows[0]!.ran ? publishedStatuses(client) : [];
};

export const checkWorker = async (client: pg.Client): Promise<string> => {
  const [latest] = (await statuses(client)).sort((a, b) => a.silent_seconds - b.silent_seconds);
  if (!latest) throw new Error('no worker has ever run on this database');
  const { writer, silent_seconds } = latest;
  if (silent_seconds > WORKER_SILENT_SECONDS)
    throw new Error(`no worker has reported for ${Math.round(silent_seconds)} s; the last one was ${writer}`);
  const waiting = await waitingReactors(client);
  if (waiting.length > 0) throw new Error(waiting.map(({ name, reason }) => `${name} waits: ${reason}`).join('; '));
  return `${writer} reported ${silent_seconds.toFixed(1)} s ago`;
};

export const checkParkedStreams = async (client: pg.Client): Promise<string> => {
  const affected = (await statuses(client)).filter(({ parked_streams }) => parked_streams > 0);
  if (affected.length > 0)
    throw new Error(`streams are parked: ${affected.map(({ name, parked_streams }) => `${name}: ${parked_streams}`).join(', ')}`);
  return 'no stream is parked';
};

export const checkNats = async (config: Pick<ServiceLocations, 'natsUrl' | 'natsAccountSeed'>): Promise<string> => {
  const connection = await connectNats(config, { waitForServer: false });
  try {
    const { version = '' } = connection.info ?? {};
    await (await connection.jetstreamManager()).getAccountInfo();
    await assertStreamIsOurs(connection);
    if (isUnsafeVersion(version))
      throw new Error(`version ${version} may lose streams when it is killed: use ${MIN_SAFE_VERSION} or later`);
    return `version ${version}, JetStream is on${config.natsAccountSeed ? '' : '; without NATS_ACCOUNT_SEED no runner can connect'}`;
  } finally {
    await connection.close();
  }
};

/**
 * The platform's data keys in the log, encrypted with the master key. The result is empty if the log is empty, and also
 * if the log is unreachable, which the check of the event store reports.
 */
const wrappedKeysIn = async (url: string): Promise<WrappedKeys> => {
  const log = openLog(url);
  return readWrappedKeys(log, PLATFORM, 'name')
    .catch(() => [])
    .finally(() => log.close());
};

/** Checks that only the owner can read the master key, and that it decrypts a key of the log. */
export const checkMasterKey = async (file: string, eventstoreUrl: string): Promise<string> => {
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  const mode = statSync(file).mode & 0o777;
  if (mode & 0o077) throw new Error(`other users can read ${file} (mode ${mode.toString(8)})`);
  const key = await loadMasterKey(file, false);
  const [wrapped] = await wrappedKeysIn(eventstoreUrl);
  if (wrapped) unwrapKey(key, PLATFORM, 'name', wrapped);
  return `${file}: keep a copy of it, separate from the event log`;
};

/**
 * The directory, or its nearest existing parent: with external services, the data directory may not exist on this
 * machine yet.
 */
const existingDirectory = (dir: string): string => (existsSync(dir) ? dir : existingDirectory(dirname(dir)));

export const checkDiskSpace = async (dir: string): Promise<string> => {
  const { bavail, bsize } = statfsSync(existingDirectory(dir));
  const free = bavail * bsize;
  if (free < MIN_FREE_BYTES) throw new Error(`only ${Math.round(free / 1024 ** 2)} MiB are free`);
  return `${Math.round(free / 1024 ** 3)} GiB are free`;
};

export const checkHttpService = async (url: string): Promise<string> => {
  const response = await fetch(`${url}/readyz`).catch(() => {
    throw new Error(`nothing answers at ${url}`);
  });
  const { degraded } = (await response.json().catch(() => {
    throw new Error(`another service answers at ${url}, not Annals`);
  })) as { degraded: string[] };
  if (!response.ok) throw new Error('is not ready: it does not accept deliveries');
  if (degraded.length > 0) throw new Error(`accepts deliveries, but these parts do not work: ${degraded.join(', ')}`);
  return 'ready';
};
