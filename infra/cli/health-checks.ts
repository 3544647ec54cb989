import { existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { projections } from '../../projections/registry.ts';
import { readJson } from '../durable-files.ts';
import { openLog } from '../eventstore/client.ts';
import { BACKUP_RECORD, type BackupRecord } from '../eventstore/embedded/backup-store.ts';
import { platformIdOf } from '../processes/platform-id.ts';
import { deadDeliveryCount, parkedCounts, unanchoredHeads } from '../projector/health-counts.ts';
import { waitingReactors } from '../projector/reactor-status.ts';
import { hasSystemTables, readServerFacts } from '../projector/schema.ts';
import { type PublishedStatus, publishedStatuses, WORKER_SILENT_SECONDS } from '../projector/status.ts';
import { fail, none, ok, type Result, warn } from './finding.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const MIN_POSTGRES_VERSION = 150_000;
const GIB = 1024 ** 3;
const [LITTLE_SPACE_BYTES, MIN_SPACE_BYTES] = [GIB, GIB / 16];
const DAY_MS = 86_400_000;
/**
 * A head that is not anchored after this time (milliseconds) counts as a failure, because the worker tries again at
 * least every 5 minutes.
 */
const MAX_ANCHOR_DELAY_MS = 900_000;
const MAX_BACKUP_AGE_DAYS = 7;
const PARKED_ADVICE =
  'GET /admin/projections/<name>/parked shows the reason; once it is fixed, POST /admin/projections/<name>/parked/<event_id>/retry';

/** The result of the check of the event store. `platform` is null if the platform has not been started yet. */
export type StoreState = { readonly result: Result; readonly platform: string | null };

/** Checks the event store. @throws Error if it does not answer */
export const checkStore = async (url: string): Promise<StoreState> => {
  const log = openLog(url);
  try {
    const startedAt = performance.now();
    await log.ping();
    const platform = await platformIdOf(log);
    const answer = `answers in ${Math.round(performance.now() - startedAt)} ms`;
    return { result: ok(`${answer}, ${platform ? 'contains a platform' : 'is empty: the platform has not been started yet'}`), platform };
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

export const checkPostgres = async (client: pg.Client): Promise<Result> => {
  const { version, number, may_create, foreign_schemas } = await readServerFacts(
    client,
    projections.map(({ name }) => name),
  );
  if (number < MIN_POSTGRES_VERSION) return fail(`version ${version} is older than 15`, 'use Postgres 15 or later');
  if (!may_create) return fail('the user may not create schemas in this database', 'grant it CREATE on the database');
  if (foreign_schemas)
    return fail(`the database contains schemas of another application (${foreign_schemas})`, 'use a separate database for Annals');
  return ok(`version ${version}`);
};

/** Returns the statuses that workers have published; null if no worker has created the tables yet. */
const statuses = async (client: pg.Client): Promise<PublishedStatus[] | null> =>
  (await hasSystemTables(client)) ? publishedStatuses(client) : null;

/** Checks that a worker runs and that its reactors work. `startAdvice` says how to start a worker. */
export const checkWorker = async (client: pg.Client, isStarted: boolean, startAdvice: string): Promise<Result> => {
  const [latest] = ((await statuses(client)) ?? []).sort((a, b) => a.silent_seconds - b.silent_seconds);
  if (!latest && !isStarted) return none('none has run yet');
  if (!latest) return fail('no worker has ever run on this database', startAdvice);
  const { writer, silent_seconds } = latest;
  if (silent_seconds > WORKER_SILENT_SECONDS)
    return fail(`no worker has reported for ${Math.round(silent_seconds)} s; the last one was ${writer}`, startAdvice);
  const waiting = await waitingReactors(client);
  if (waiting.length === 0) return ok(`${writer} reported ${silent_seconds.toFixed(1)} s ago`);
  const causes = waiting.map(({ name, reason }) => `${name} waits: ${reason}`);
  return fail(causes.join('; '), waiting.map(({ remedy }) => remedy ?? 'read the log of the process work').join('; '));
};

/** Checks that no projection has parked events. */
export const checkParkedEvents = async (client: pg.Client): Promise<Result> => {
  if (!(await hasSystemTables(client))) return none('there are no read models yet');
  const counts = await parkedCounts(client);
  if (counts.length === 0) return ok('none');
  return fail(`not applied: ${counts.map(({ projection, events }) => `${projection}: ${events}`).join(', ')}`, PARKED_ADVICE);
};

/** Counts the deliveries that were given up within the last day. */
export const checkDeadDeliveries = async (client: pg.Client): Promise<Result> => {
  const count = await deadDeliveryCount(client);
  if (count === null) return none('not checked: there are no read models yet');
  if (count === 0) return ok('none in the last day');
  const message = `${count} ${count === 1 ? 'delivery was' : 'deliveries were'} given up in the last day`;
  return warn(message, 'read the log of the runner; the audit logs with action=delivery.dead_lettered name the deliveries');
};

/**
 * Checks whether AUDIT_ANCHOR_URL receives the heads of the audit logs. A failure counts only after some minutes,
 * because the worker tries again.
 */
export const checkAnchor = async (client: pg.Client, url: string | undefined, now: number): Promise<Result> => {
  if (url === undefined) return none('AUDIT_ANCHOR_URL is not set: the heads of the audit logs stay on this platform');
  const found = await unanchoredHeads(client);
  if (!found || now - Date.parse(found.since) < MAX_ANCHOR_DELAY_MS) return ok(`${new URL(url).host} has the heads of the audit logs`);
  const message = `${new URL(url).host} has not received ${found.count} ${found.count === 1 ? 'head' : 'heads'} of the audit logs, the oldest of ${found.since}`;
  return fail(message, 'read the reason in the log of annals work, and correct AUDIT_ANCHOR_URL or EGRESS_ALLOW');
};

export const checkParkedStreams = async (client: pg.Client): Promise<Result> => {
  const found = await statuses(client);
  if (!found) return none('there are no read models yet');
  const affected = found.filter(({ parked_streams }) => parked_streams > 0);
  if (affected.length === 0) return ok('no stream is parked');
  return fail(`streams are parked: ${affected.map(({ name, parked_streams }) => `${name}: ${parked_streams}`).join(', ')}`, PARKED_ADVICE);
};

/**
 * Returns the directory, or its nearest existing parent. With external services, the data directory may not exist on
 * this machine yet.
 */
const existingDirectory = (dir: string): string => (existsSync(dir) ? dir : existingDirectory(dirname(dir)));

export const checkDiskSpace = async (dir: string): Promise<Result> => {
  const { bavail, bsize } = statfsSync(existingDirectory(dir));
  const free = bavail * bsize;
  const advice = `free disk space for ANNALS_DATA (${dir})`;
  if (free < MIN_SPACE_BYTES) return fail(`only ${Math.round(free / 1024 ** 2)} MiB are free`, advice);
  if (free < LITTLE_SPACE_BYTES) return warn(`only ${Math.round(free / 1024 ** 2)} MiB are free`, advice);
  return ok(`${Math.round(free / GIB)} GiB are free`);
};

/** Checks the age of the embedded store's last backup. */
export const checkBackup = async (dataDir: string, isStarted: boolean): Promise<Result> => {
  const advice = 'annals backup --to <new directory>, and copy the master key to another place';
  const last = readJson<BackupRecord>(join(dataDir, 'store', BACKUP_RECORD));
  if (!last && !isStarted) return none('there is nothing to back up yet');
  if (!last) return warn('annals backup has never made a backup of this event store', advice);
  const days = Math.floor((Date.now() - Date.parse(last.at)) / DAY_MS);
  const message = `the last one was made at ${last.at}, in ${last.to}`;
  return days > MAX_BACKUP_AGE_DAYS ? warn(`${message}: ${days} days ago`, advice) : ok(message);
};

type ServiceStatus = { readonly degraded: readonly string[]; readonly platform?: string | null };

/** The platform to which the log belongs. `isKnown` is false if the log could not be read. */
export type Expected = { readonly isKnown: boolean; readonly platform: string | null };

const checkReadiness = (isReady: boolean, { degraded }: ServiceStatus, isCompared: boolean): Result => {
  const parts = degraded.join(', ');
  if (!isReady)
    return fail(`is not ready, so it does not accept deliveries: ${parts}`, 'repair the event store, or free disk space for it');
  if (degraded.length > 0) return fail(`accepts deliveries, but these parts do not work: ${parts}`, 'see the findings about these parts');
  return ok(isCompared ? 'ready' : 'ready; not compared with the log');
};

/** Checks the HTTP service, and that it serves this platform and not another one. */
export const checkHttpService = async (url: string, { isKnown, platform }: Expected, startAdvice: string): Promise<Result> => {
  const response = await fetch(`${url}/readyz`).catch(() => null);
  if (!response && isKnown && !platform) return none(`nothing answers at ${url}: the platform has not been started yet`);
  if (!response) return fail(`nothing answers at ${url}`, startAdvice);
  const status = (await response.json().catch(() => null)) as ServiceStatus | null;
  const portAdvice = 'stop that service, or set PORT or ANNALS_URL';
  if (!status || !Array.isArray(status.degraded)) return fail(`another service answers at ${url}, not Annals`, portAdvice);
  if (isKnown && status.platform && status.platform !== platform)
    return fail(`another platform answers at ${url}: it uses another event log`, portAdvice);
  return checkReadiness(response.ok, status, isKnown && !!status.platform);
};
