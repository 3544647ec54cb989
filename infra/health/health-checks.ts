import { existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg, { type ClientBase } from 'pg';
import { counted } from '../../domain/counted.ts';
import type { Position } from '../../domain/event.ts';
import { projections } from '../../projections/registry.ts';
import { readJson } from '../durable-files.ts';
import { openLog } from '../eventstore/client.ts';
import { BACKUP_RECORD, type BackupRecord } from '../eventstore/embedded/backup-store.ts';
import type { Log } from '../eventstore/event-log.ts';
import { platformIdOf } from '../eventstore/platform-id.ts';
import { databaseCause } from '../postgres/database-cause.ts';
import { testWrite } from '../postgres/write-test.ts';
import { deadDeliveryCount, MAX_DEAD_COUNTED, parkedCounts, unanchoredHeads } from '../projector/health-counts.ts';
import { waitingReactors } from '../projector/reactor-status.ts';
import { hasSystemTables, readServerFacts } from '../projector/schema.ts';
import { type PublishedStatus, publishedStatuses } from '../projector/status.ts';
import { isWorkerMissing } from '../projector/worker-presence.ts';
import { fail, none, ok, type Result, warn } from './finding.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** A worker reports every second. A report that is older than this many seconds is late. */
const LATE_REPORT_SECONDS = 3;
const MIN_POSTGRES_VERSION = 150_000;
const GIB = 1024 ** 3;
const [LITTLE_SPACE_BYTES, MIN_SPACE_BYTES] = [GIB, GIB / 16];
/** The maximum lag of a projection behind the log, in seconds. A higher lag is reported. */
const MAX_LAG_SECONDS = 10;
const DAY_MS = 86_400_000;
/** In milliseconds, for posting an audit head (signed hash). A longer time is a failure: the worker retries at least every 5 minutes. */
const MAX_ANCHOR_DELAY_MS = 900_000;
const MAX_BACKUP_AGE_DAYS = 7;
const PARKED_ADVICE =
  'GET /admin/projections/<name>/parked shows the reason; once it is fixed, POST /admin/projections/<name>/parked/<event_id>/retry';

const READ_ONLY_ADVICE = databaseCause({ code: '25006' })!.advice;

type Db = Pick<ClientBase, 'query'>;

/** `platform` is null if the platform has not been started yet; `end`, the last event's position, if there is none. */
export type StoreState = { readonly result: Result; readonly platform: string | null; readonly end: Position | null };

/** @throws LogError if the store does not answer */
export const checkLog = async (log: Log): Promise<StoreState> => {
  const startedAt = performance.now();
  const last = await log.ping();
  const milliseconds = Math.round(performance.now() - startedAt);
  const platform = await platformIdOf(log);
  const content = platform ? 'contains a platform' : 'is empty: the platform has not been started yet';
  const result = { ...ok(`answers in ${milliseconds} ms, ${content}`), figures: { answer_milliseconds: milliseconds } };
  return { result, platform, end: last?.position ?? null };
};

/** @throws Error if the store does not answer */
export const checkStore = async (url: string): Promise<StoreState> => {
  const log = openLog(url);
  return checkLog(log).finally(() => log.close());
};

/** Runs `work` with its own database connection, and then closes the connection. */
export const withPostgres = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  return work(client).finally(() => client.end());
};

export const checkPostgres = async (client: Db): Promise<Result> => {
  const { version, number, may_create, read_only, foreign_schemas } = await readServerFacts(
    client,
    projections.map(({ name }) => name),
  );
  if (number < MIN_POSTGRES_VERSION) return fail(`version ${version} is older than 15`, 'use Postgres 15 or later');
  if (read_only) return fail(`version ${version} is read-only`, READ_ONLY_ADVICE);
  if (!may_create) return fail('the user may not create schemas in this database', 'grant it CREATE on the database');
  if (foreign_schemas)
    return fail(`the database contains schemas of another application (${foreign_schemas})`, 'use a separate database for Annals');
  return ok(`version ${version}`);
};

/** A full disk, for example, prevents only changes. @throws Error of the database */
export const checkWritablePostgres = async (client: Db): Promise<Result> => {
  const result = await checkPostgres(client);
  if (result.level === 'ok') await testWrite(client);
  return result;
};

/** Null if no worker has created the tables yet. */
const statuses = async (client: Db): Promise<PublishedStatus[] | null> =>
  (await hasSystemTables(client)) ? publishedStatuses(client) : null;

/** `startAdvice` says how to start a worker. */
const checkWorkerProcess = async (client: Db, isStarted: boolean, startAdvice: string): Promise<Result> => {
  const [latest] = ((await statuses(client)) ?? []).sort((a, b) => a.silent_seconds - b.silent_seconds);
  if (!latest && !isStarted) return none('none has run yet');
  if (!latest) return fail('no worker has ever run on this database', startAdvice);
  const { writer, silent_seconds } = latest;
  const figures = { silent_seconds: Math.max(0, Math.round(silent_seconds)) };
  const silent = `no worker has reported for ${figures.silent_seconds} s; the last one was ${writer}`;
  if (await isWorkerMissing(client, silent_seconds)) return { ...fail(silent, startAdvice), figures };
  if (silent_seconds > LATE_REPORT_SECONDS) return { ...warn(silent, `if no worker reports within some seconds, ${startAdvice}`), figures };
  return { ...ok(`${writer} reported ${silent_seconds.toFixed(1)} s ago`), figures };
};

/** Null if no reactor waits. Only reactors to which `isIncluded` applies count. */
const findWaitingReactors = async (client: Db, isIncluded: (name: string) => boolean = () => true): Promise<Result | null> => {
  const waiting = (await waitingReactors(client)).filter(({ name }) => isIncluded(name));
  if (waiting.length === 0) return null;
  const causes = waiting.map(({ name, reason }) => `${name} waits: ${reason}`);
  return fail(causes.join('; '), waiting.map(({ remedy }) => remedy ?? 'read the log of the process work').join('; '));
};

/** Also checks the reactors to which `isIncluded` applies. `startAdvice` says how to start a worker. */
export const checkWorker = async (
  client: Db,
  isStarted: boolean,
  startAdvice: string,
  isIncluded?: (name: string) => boolean,
): Promise<Result> => {
  const found = await checkWorkerProcess(client, isStarted, startAdvice);
  return found.level === 'ok' ? ((await findWaitingReactors(client, isIncluded)) ?? found) : found;
};

export const checkParkedEvents = async (client: Db): Promise<Result> => {
  if (!(await hasSystemTables(client))) return none('there are no read models yet');
  const counts = await parkedCounts(client);
  if (counts.length === 0) return ok('none');
  return fail(`not applied: ${counts.map(({ projection, events }) => `${projection}: ${events}`).join(', ')}`, PARKED_ADVICE);
};

/** Counts the deliveries that were given up within the last day. Returns the finding about them. */
export const checkDeadDeliveries = async (client: Db): Promise<Result> => {
  const count = await deadDeliveryCount(client);
  if (count === null) return none('not checked: there are no read models yet');
  const figures = { dead_deliveries: count };
  if (count === 0) return { ...ok('none in the last day'), figures };
  const more = count === MAX_DEAD_COUNTED ? 'at least ' : '';
  const message = `${more}${counted(count, 'delivery')} ${count === 1 ? 'was' : 'were'} given up in the last day`;
  const advice = 'read the log of the runner; the lists of deliveries with outcome=dead name the reasons';
  return { ...warn(message, advice), figures };
};

/** A failed post of the heads (signed hashes) is reported only after some minutes, because the worker tries again. */
export const checkAnchor = async (client: Db, url: string | undefined, now: number): Promise<Result> => {
  if (url === undefined) return none('AUDIT_ANCHOR_URL is not set: the heads of the audit logs stay on this platform');
  const found = await unanchoredHeads(client);
  if (!found || now - Date.parse(found.since) < MAX_ANCHOR_DELAY_MS) return ok(`${new URL(url).host} has the heads of the audit logs`);
  const message = `${new URL(url).host} has not received ${counted(found.count, 'head')} of the audit logs, the oldest of ${found.since}`;
  return fail(message, 'read the reason in the log of annals work, and correct AUDIT_ANCHOR_URL or EGRESS_ALLOW');
};

/** Checks that the projections follow the log, and that no projection has parked events. */
export const checkProjections = async (client: Db): Promise<Result> => {
  const found = await statuses(client);
  if (!found || found.length === 0) return warn('no worker has created the read models yet', 'start annals work');
  const behind = found.filter(({ state, lag_seconds }) => state !== 'live' || lag_seconds > MAX_LAG_SECONDS);
  const figures = {
    lag_events: Math.max(...found.map(({ lag_events }) => lag_events)),
    lag_seconds: Math.round(Math.max(...found.map(({ lag_seconds }) => lag_seconds))),
    parked_streams: found.reduce((sum, { parked_streams }) => sum + parked_streams, 0),
  };
  if (figures.parked_streams > 0) return { ...(await checkParkedStreams(client)), figures };
  if (behind.length === 0)
    return { ...ok(`${counted(found.length, 'projection')} ${found.length === 1 ? 'follows' : 'follow'} the log`), figures };
  const names = behind.map(({ name, state }) => `${name}: ${state}`).join(', ');
  return { ...warn(`behind the log: ${names}`, 'wait until they have caught up; if they do not, read the log of annals work'), figures };
};

export const checkParkedStreams = async (client: Db): Promise<Result> => {
  const found = await statuses(client);
  if (!found) return none('there are no read models yet');
  const affected = found.filter(({ parked_streams }) => parked_streams > 0);
  if (affected.length === 0) return ok('no stream is parked');
  return fail(`streams are parked: ${affected.map(({ name, parked_streams }) => `${name}: ${parked_streams}`).join(', ')}`, PARKED_ADVICE);
};

/** With external services, the data directory may not exist on this machine yet. */
const existingDirectory = (dir: string): string => (existsSync(dir) ? dir : existingDirectory(dirname(dir)));

export const checkDiskSpace = async (dir: string): Promise<Result> => {
  const { bavail, bsize } = statfsSync(existingDirectory(dir));
  const free = bavail * bsize;
  const advice = `free disk space for ANNALS_DATA (${dir})`;
  const figures = { free_bytes: free };
  if (free < MIN_SPACE_BYTES) return { ...fail(`only ${Math.round(free / 1024 ** 2)} MiB are free`, advice), figures };
  if (free < LITTLE_SPACE_BYTES) return { ...warn(`only ${Math.round(free / 1024 ** 2)} MiB are free`, advice), figures };
  return { ...ok(`${Math.round(free / GIB)} GiB are free`), figures };
};

export const checkBackup = async (dataDir: string, isStarted: boolean): Promise<Result> => {
  const advice = 'annals backup --to <new directory>, and copy the master key to another place';
  const last = readJson<BackupRecord>(join(dataDir, 'store', BACKUP_RECORD));
  if (!last && !isStarted) return none('there is nothing to back up yet');
  if (!last) return warn('annals backup has never made a backup of this event store', advice);
  const ageMs = Math.max(0, Date.now() - Date.parse(last.at));
  const days = Math.floor(ageMs / DAY_MS);
  const message = `the last one was made at ${last.at}, in ${last.to}`;
  const result = days > MAX_BACKUP_AGE_DAYS ? warn(`${message}: ${counted(days, 'day')} ago`, advice) : ok(message);
  return { ...result, figures: { age_seconds: Math.round(ageMs / 1_000) } };
};

type ServiceStatus = { readonly degraded: readonly string[]; readonly platform?: string | null };

/** `isKnown` is false if the log could not be read. */
export type Expected = { readonly isKnown: boolean; readonly platform: string | null };

const checkReadiness = (isReady: boolean, { degraded }: ServiceStatus, isCompared: boolean): Result => {
  const parts = degraded.join(', ');
  if (!isReady)
    return fail(
      `is not ready, so it does not accept deliveries: ${parts}`,
      'see the findings about the event store, the spool and the disk',
    );
  if (degraded.length > 0) return fail(`accepts deliveries, but these parts do not work: ${parts}`, 'see the findings about these parts');
  return ok(isCompared ? 'ready' : 'ready; not compared with the log');
};

/** Also checks that it belongs to this platform and not to another one. `startAdvice` says how to start it. */
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
