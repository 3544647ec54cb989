import type { NatsConnection } from 'nats';
import type { ClientBase } from 'pg';
import type { HeldTotals } from '../../api/deliveries/held-deliveries.ts';
import type { ReadHealth } from '../../api/operations/health.ts';
import { withinTime } from '../../commands/within-time.ts';
import { counted } from '../../domain/counted.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type BlobPlace, findBlobsUrl } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import type { Log } from '../eventstore/event-log.ts';
import { budgetsResult, type QueueReaders, queuesResult, runnersResult } from '../health/agent-queues.ts';
import { checkBlobPlace } from '../health/blob-check.ts';
import { checkClamav } from '../health/clamav-check.ts';
import { fileAdvice } from '../health/file-cause.ts';
import { examine, type Figures, type Finding, fail, type Level, none, ok, type Result, warn } from '../health/finding.ts';
import { estimateGrowth } from '../health/growth-per-day.ts';
import * as Check from '../health/health-checks.ts';
import { heldResult } from '../health/held-deliveries.ts';
import { checkBroker } from '../health/nats-check.ts';
import { checkSignIn } from '../health/sign-in-check.ts';
import { checkMailReceiver, checkSmtp } from '../health/smtp-check.ts';
import { storeAdvice } from '../health/store-failure.ts';
import { isStoreOf, readStorage } from '../metrics/service-metrics.ts';
import { databaseCause } from '../postgres/database-cause.ts';
import { ownProcess, type ProcessPresence, readProcesses } from '../postgres/process-presence.ts';
import { RELAY_REACTOR } from '../projector/reactor-status.ts';
import { createRelayLag, type RelayLag } from '../relay/relay-lag.ts';
import type { SpoolStatus } from '../spool/spool-storage.ts';
import { memoizeFor } from './readiness.ts';

/**
 * The time limit of a check in milliseconds. A part whose check takes longer counts as down, so that it does not delay
 * the others.
 */
const CHECK_TIMEOUT_MS = 1_500;
/**
 * The time in milliseconds for which the result of a check is reused. Several operators may look at the report at the
 * same time.
 */
const RESULT_TTL_MS = 1_000;
/** The maximum lag of the relay behind the log, in seconds. A higher lag is reported. */
const MAX_RELAY_LAG_SECONDS = 10;

const WORKER_ADVICE = 'start annals work; if it runs, read its log';
/** The parts whose state is read from Postgres. */
const IN_DATABASE = { downAdvice: 'repair Postgres first: this part reports there', isReadElsewhere: true } as const;

type HealthConfig = Parameters<typeof checkSmtp>[0] &
  Parameters<typeof checkMailReceiver>[0] &
  Parameters<typeof checkSignIn>[0] &
  Pick<
    Config,
    | 'annalsData'
    | 'auditAnchorUrl'
    | 'blobsUrl'
    | 'clamavUrl'
    | 'databaseUrl'
    | 'eventstoreUrl'
    | 'natsAccountSeed'
    | 'natsRunnerAccountSeed'
    | 'natsUrl'
  >;

/** The connections of the process `serve`, which the checks use. */
export type HealthParts = {
  readonly config: HealthConfig;
  readonly log: Log;
  readonly db: Pick<ClientBase, 'query'>;
  readonly broker: { readonly isHealthy: () => boolean; readonly current: () => NatsConnection | undefined };
  readonly blobPlace: BlobPlace | null;
  readonly spool: () => SpoolStatus;
  /** Whether the last append of a delivery failed. */
  readonly isFailing: () => boolean;
  /** Returns the parts of this process that do not work, such as keys that cannot be decrypted. */
  readonly faults: () => readonly string[];
  /** Read the queues of all tenants, and what holds them up. Runners and budgets may be unknown. */
  readonly read: QueueReaders;
  /** Counts the held deliveries of all tenants. Those that budgets hold may be unknown. */
  readonly readHeld: () => Promise<HeldTotals>;
};

const storeResult = async ({ config, log, isFailing }: HealthParts, growthOf: ReturnType<typeof estimateGrowth>): Promise<Result> => {
  const [{ result, end }, { annals_store_size_bytes: size }] = await Promise.all([Check.checkLog(log), readStorage(config)]);
  const growth = end && growthOf(end.commit, Date.now());
  const figures = {
    ...result.figures,
    ...(size !== null && { stored_bytes: size }),
    ...(growth !== null && { growth_per_day_bytes: growth }),
  };
  if (!isFailing()) return { ...result, figures };
  const advice = 'free disk space for the event store, and read its log';
  return { ...fail(`${result.message}, but the last delivery could not be recorded`, advice), figures };
};

const databaseSize = async (db: HealthParts['db']): Promise<number> => {
  const { rows } = await db.query<{ bytes: number }>('select pg_database_size(current_database())::double precision as bytes');
  return rows[0]!.bytes;
};

const databaseResult = async (db: HealthParts['db']): Promise<Result> => {
  const [result, stored_bytes] = await Promise.all([Check.checkPostgres(db), databaseSize(db)]);
  return { ...result, figures: { stored_bytes } };
};

const brokerResult = async ({ broker, config }: HealthParts, advice: string): Promise<Result> => {
  const connection = broker.current();
  return connection && broker.isHealthy() ? checkBroker(connection, config) : fail('is not connected', advice);
};

/** Checks the relay. Its lag is not known as long as the broker has no message from the relay. */
const relayResult = async ({ db }: HealthParts, readLag: () => Promise<RelayLag | null>): Promise<Result> => {
  const reactor = Check.checkWorker(db, true, WORKER_ADVICE, (name) => name === RELAY_REACTOR);
  const [{ level, message, advice }, lag] = await Promise.all([reactor, readLag()]);
  const figures: Figures = lag ? { lag_events: lag.events, lag_seconds: Math.max(0, Math.round(lag.seconds)) } : {};
  if (level !== 'ok') return { level, message, advice, figures };
  if (!lag) return ok('works; it has published nothing yet');
  const waiting = `${counted(lag.events, 'event')} ${lag.events === 1 ? 'is' : 'are'} not published to the broker yet`;
  return lag.seconds > MAX_RELAY_LAG_SECONDS
    ? { ...warn(`${waiting}, the oldest for ${figures.lag_seconds} s`, WORKER_ADVICE), figures }
    : { ...ok(waiting), figures };
};

const serviceResult = async (faults: readonly string[]): Promise<Result> => {
  const figures = { uptime_seconds: Math.round(process.uptime()), memory_bytes: process.memoryUsage.rss() };
  const version = `annals ${packageJson.version}, Node ${process.versions.node}`;
  if (faults.length === 0) return { ...ok(version), figures };
  return { ...warn(`${version}; these parts do not work: ${faults.join(', ')}`, 'read the log of annals serve'), figures };
};

const UNDEFINED_TABLE_OR_SCHEMA = ['42P01', '3F000'];

/** Before a worker of this version has created the table, only this process is known. */
const processesOf = (db: HealthParts['db']): Promise<readonly ProcessPresence[]> =>
  readProcesses(db, 'serve').catch((error) => {
    if (UNDEFINED_TABLE_OR_SCHEMA.includes(error.code)) return [ownProcess('serve')];
    throw error;
  });

/** Returns how many processes run, and how long ago the newest of each kind was started. */
const processesResult = async (db: HealthParts['db']): Promise<Result> => {
  const running = (await processesOf(db)).filter(({ state }) => state === 'running');
  const kinds = (['serve', 'work'] as const).map((kind) => [kind, running.filter((one) => one.kind === kind)] as const);
  const figures = kinds.flatMap(([kind, started]) => {
    const newest = Math.max(...started.map(({ started_at }) => Date.parse(started_at)));
    return started.length === 0 ? [] : [[`${kind}_uptime_seconds`, Math.max(0, Math.round((Date.now() - newest) / 1_000))] as const];
  });
  const found = ok(`running: ${kinds.map(([kind, { length }]) => `${length} annals ${kind}`).join(', ')}`);
  return { ...found, figures: Object.fromEntries(figures) };
};

const spoolResult = async ({ canTake, parked, rows, oldestAt }: SpoolStatus): Promise<Result> => {
  const figures = { deliveries: rows, parked_deliveries: parked };
  if (parked > 0)
    return {
      ...fail(`the event store has refused ${counted(parked, 'delivery')}, which the spool keeps`, 'read why in the log of annals serve'),
      figures,
    };
  if (!canTake) return { ...fail('it can take no deliveries', 'free disk space for ANNALS_DATA'), figures };
  if (rows === 0) return { ...ok('empty'), figures };
  const age = Math.max(0, Math.round((Date.now() - (oldestAt ?? Date.now())) / 1_000));
  return {
    ...warn(
      `${counted(rows, 'delivery')} ${rows === 1 ? 'waits' : 'wait'}, the oldest for ${age} s`,
      'see the event store: they are recorded when it works again',
    ),
    figures,
  };
};

const backupResult = async ({ annalsData, eventstoreUrl }: HealthConfig): Promise<Result> =>
  isStoreOf(`${annalsData}/store`, eventstoreUrl ?? '')
    ? Check.checkBackup(annalsData, true)
    : none('not checked: back up EVENTSTORE_URL with its own tools');

type CheckRow = readonly [
  part: string,
  down: string | typeof IN_DATABASE,
  check: () => Promise<Result>,
  adviceFor?: (error: unknown) => string | null,
];

const checksOf = (parts: HealthParts): readonly CheckRow[] => {
  const { config, db, log, blobPlace, broker, read } = parts;
  const lag = createRelayLag({ log, nats: broker.current, relay: () => undefined });
  const growth = estimateGrowth();
  const natsAdvice = 'start nats-server with JetStream, or correct NATS_URL';
  return [
    ['service', 'read the log of annals serve', () => serviceResult(parts.faults())],
    ['event store', 'start it, or correct EVENTSTORE_URL', () => storeResult(parts, growth), storeAdvice],
    ['Postgres', 'start it, or correct DATABASE_URL', () => databaseResult(db), (error) => databaseCause(error)?.advice ?? null],
    ['NATS', natsAdvice, () => brokerResult(parts, natsAdvice)],
    ['processes', IN_DATABASE, () => processesResult(db)],
    ['worker', IN_DATABASE, () => Check.checkWorker(db, true, WORKER_ADVICE, (name) => name !== RELAY_REACTOR)],
    ['projections', IN_DATABASE, () => Check.checkProjections(db)],
    ['relay', IN_DATABASE, () => relayResult(parts, lag)],
    ['runners', IN_DATABASE, async () => runnersResult(...(await Promise.all([read.queues(), read.asked(), read.stopped()])))],
    ['queues', IN_DATABASE, async () => queuesResult(await read.queues())],
    ['budgets', IN_DATABASE, async () => budgetsResult(...(await Promise.all([read.queues(), read.stopped()])))],
    ['dead letters', IN_DATABASE, () => Check.checkDeadDeliveries(db)],
    ['held deliveries', IN_DATABASE, async () => heldResult(await parts.readHeld())],
    ['spool', 'make ANNALS_DATA writable for annals serve', () => spoolResult(parts.spool())],
    ['file store', 'correct BLOBS_URL, or start the object store', () => fileResult(blobPlace, config)],
    ['disk', 'correct ANNALS_DATA', () => Check.checkDiskSpace(config.annalsData), (error) => fileAdvice(error, config.annalsData)],
    ['backup', 'correct ANNALS_DATA', () => backupResult(config)],
    ['audit anchor', IN_DATABASE, () => Check.checkAnchor(db, config.auditAnchorUrl, Date.now())],
    ['virus scan', 'correct CLAMAV_URL', () => checkClamav(config)],
    ['mail out', 'start the mail server, or correct SMTP_URL', () => checkSmtp(config)],
    ['mail in', 'correct SMTP_LISTEN', () => checkMailReceiver(config)],
    ['sign-in', 'start the OpenID provider, or correct OIDC_ISSUER', () => checkSignIn(config)],
  ];
};

const fileResult = (place: BlobPlace | null, config: HealthConfig): Promise<Result> =>
  checkBlobPlace(place, findBlobsUrl(config), (backend) => backend.probe().then(() => 'answers'));

const STATUSES = { ok: 'ok', warn: 'degraded', fail: 'down', none: 'ok' } as const satisfies Record<Level, string>;

/** Converts a finding to a part of the report. */
const partOf = ({ part, level, message, advice, figures = {}, isUnknown }: Finding) =>
  isUnknown
    ? { name: part, status: 'degraded' as const, detail: `not known: ${message}`, advice, figures }
    : { name: part, status: STATUSES[level], detail: message, advice, figures };

/**
 * Creates the function that reports the health of the platform. It makes the checks of `annals doctor`, but with the
 * open connections of this process. Each check has a time limit, so that a part that is down does not delay the others.
 */
export const createHealthReport = (parts: HealthParts): ReadHealth => {
  const checks = checksOf(parts).map(([part, down, check, adviceFor]) => {
    const examined = { part, ...(typeof down === 'string' ? { downAdvice: down } : down), timeoutMs: CHECK_TIMEOUT_MS, adviceFor };
    return memoizeFor(RESULT_TTL_MS, () => examine(examined, check));
  });
  // While Postgres does not answer, only this process is known.
  const listProcesses = memoizeFor(RESULT_TTL_MS, async () => {
    const found = await withinTime(processesOf(parts.db), CHECK_TIMEOUT_MS);
    return found instanceof Error ? [ownProcess('serve')] : found;
  });
  return async () => {
    const [processes, ...findings] = await Promise.all([listProcesses(), ...checks.map((check) => check())]);
    return { at: new Date().toISOString(), parts: findings.filter(({ level }) => level !== 'none').map(partOf), processes: [...processes] };
  };
};
