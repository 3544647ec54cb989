import type pg from 'pg';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Config } from '../../config.ts';
import { checkBlobStore } from '../../health/blob-check.ts';
import { checkClamav } from '../../health/clamav-check.ts';
import { fileAdvice } from '../../health/file-cause.ts';
import { examine as examineWithin, type Finding, findingLines, none, ok, type Result, warn } from '../../health/finding.ts';
import * as Check from '../../health/health-checks.ts';
import { checkNats, checkSyncInterval } from '../../health/nats-check.ts';
import { checkSignIn } from '../../health/sign-in-check.ts';
import { checkMailReceiver, checkSmtp } from '../../health/smtp-check.ts';
import { checkSpool } from '../../health/spool-check.ts';
import { explainStoreFailure } from '../../health/store-failure.ts';
import { listenUrl, loopback } from '../../listen-url.ts';
import { printLine } from '../../logging/print-line.ts';
import { MIN_SAFE_VERSION } from '../../nats/server-version.ts';
import { START_COMMAND } from '../../package-cache.ts';
import { databaseCause } from '../../postgres/database-cause.ts';
import { clusterProblems } from '../../processes/cluster-settings.ts';
import { spoolDirectory } from '../../spool/spool-slots.ts';
import { findServices, isStartedHere, type ServiceLocations } from '../locate-services.ts';
import { checkMasterKey } from '../vault/master-key-check.ts';
import { checkCertificate, checkClocks, checkPublicUrl } from './address-checks.ts';
import { checkKeyAges } from './key-age-check.ts';
import { checkOAuth } from './oauth-check.ts';
import { checkStripe } from './stripe-check.ts';

const CHECK_TIMEOUT_MS = 5_000;

const examine = (
  part: string,
  downAdvice: string,
  check: () => Promise<Result>,
  adviceFor?: (error: unknown) => string | null,
): Promise<Finding> => examineWithin({ part, downAdvice, timeoutMs: CHECK_TIMEOUT_MS, adviceFor }, check);

const databaseAdvice = (error: unknown): string | null => databaseCause(error)?.advice ?? null;

const startAdvice = ({ annalsData, eventstoreUrl, databaseUrl, natsUrl }: Config): string =>
  eventstoreUrl && databaseUrl && natsUrl
    ? 'start annals serve and annals work'
    : `read the logs in ${annalsData}/logs, or start the platform: ${START_COMMAND}`;

const examineStore = async (config: Config, url: string): Promise<{ finding: Finding; expected: Check.Expected }> => {
  let expected: Check.Expected = { isKnown: false, platform: null };
  const advice = config.eventstoreUrl ? 'start it, or correct EVENTSTORE_URL' : startAdvice(config);
  const finding = await examine('event store', advice, async () => {
    try {
      const { result, platform } = await Check.checkStore(url);
      expected = { isKnown: true, platform };
      return result;
    } catch (error) {
      return explainStoreFailure(url, error, advice);
    }
  });
  return { finding, expected };
};

const adviceAbout = (directory: string) => (error: unknown) => fileAdvice(error, directory);

const serviceUrlOf = (config: Config): string => config.annalsUrl ?? loopback(listenUrl(config));

/** Parts that store their state in the database, or are compared with it: they cannot be checked without it. */
const PARTS_OF_DATABASE = ['worker', 'projections', 'parked events', 'dead letters', 'audit anchor', 'clock'] as const;

const examineDatabase = async (config: Config, url: string, isStarted: boolean): Promise<Finding[]> => {
  const advice = config.databaseUrl ? 'start it, or correct DATABASE_URL' : startAdvice(config);
  const database = await examine('Postgres', advice, () => Check.withPostgres(url, Check.checkWritablePostgres), databaseAdvice);
  const notLookedAt = none('not checked, because Postgres does not work');
  if (database.level === 'fail') return [database, ...PARTS_OF_DATABASE.map((part) => ({ part, ...notLookedAt }))];
  const workerAdvice = startAdvice(config);
  const checks: Record<(typeof PARTS_OF_DATABASE)[number], (client: pg.Client) => Promise<Result>> = {
    worker: (client) => Check.checkWorker(client, isStarted, workerAdvice),
    projections: Check.checkParkedStreams,
    'parked events': Check.checkParkedEvents,
    'dead letters': Check.checkDeadDeliveries,
    'audit anchor': (client) => Check.checkAnchor(client, config.auditAnchorUrl, Date.now()),
    clock: (client) => checkClocks(client, serviceUrlOf(config)),
  };
  const found = PARTS_OF_DATABASE.map((part) =>
    examine(part, part === 'worker' ? workerAdvice : advice, () => Check.withPostgres(url, checks[part]), databaseAdvice),
  );
  return [database, ...(await Promise.all(found))];
};

const examineNats = (config: Config, services: ServiceLocations): Promise<Finding> => {
  const start = `start nats-server ${MIN_SAFE_VERSION} or later with JetStream, or correct NATS_URL`;
  const advice = config.natsUrl ? start : startAdvice(config);
  return examine('NATS', advice, async () => (services.natsUrl ? checkNats(services, advice) : none('not checked: it has never run here')));
};

/** `eventstoreUrl` is null if there is no event store yet. */
const examineMachine = (config: Config, eventstoreUrl: string | null, expected: Check.Expected): Promise<Finding[]> => {
  const { annalsData, masterKeyFile, publicUrl, isPublicUrlSet, natsUrl } = config;
  const url = serviceUrlOf(config);
  return Promise.all([
    examine('master key', 'correct MASTER_KEY_FILE', () => checkMasterKey(masterKeyFile, eventstoreUrl)),
    examine('keys', 'look at the event store and the master key first', () => checkKeyAges(masterKeyFile, eventstoreUrl)),
    examine('disk', 'correct ANNALS_DATA', () => Check.checkDiskSpace(annalsData), adviceAbout(annalsData)),
    examine(
      'spool',
      'make ANNALS_DATA writable for the user who runs annals serve',
      () => checkSpool(annalsData, startAdvice(config)),
      adviceAbout(spoolDirectory(annalsData)),
    ),
    examine('service', startAdvice(config), () => Check.checkHttpService(url, expected, startAdvice(config))),
    examine('public URL', 'correct PUBLIC_URL', () => checkPublicUrl(publicUrl, isPublicUrlSet, expected)),
    examine('certificate', 'start the proxy of PUBLIC_URL, or correct PUBLIC_URL', () => checkCertificate(publicUrl)),
    examine('virus scan', 'correct CLAMAV_URL', () => checkClamav(config)),
    examine('payments', 'allow connections to api.stripe.com:443', () => checkStripe(config)),
    examine('accounts', 'allow connections to the providers', () => checkOAuth(config)),
    examine('mail out', 'start the mail server, or correct SMTP_URL', () => checkSmtp(config)),
    examine('mail in', 'start annals serve, or correct SMTP_LISTEN', () => checkMailReceiver(config)),
    examine('sign-in', 'start the OpenID provider, or correct OIDC_ISSUER', () => checkSignIn(config)),
    examine('NATS sync', 'correct ANNALS_DATA', () => checkSyncInterval(annalsData, natsUrl)),
  ]);
};

const examineBackup = ({ eventstoreUrl, annalsData }: Config, isStarted: boolean): Promise<Finding> =>
  examine('backup', 'correct ANNALS_DATA', async () =>
    eventstoreUrl ? none('not checked: back up EVENTSTORE_URL with its own tools') : Check.checkBackup(annalsData, isStarted),
  );

const beforeFirstStart = async (config: Config): Promise<Finding[]> => {
  const missing = none(`there is no platform in ${config.annalsData} yet: ${START_COMMAND} creates it`);
  const parts = ['event store', 'Postgres', 'NATS', 'file store', ...PARTS_OF_DATABASE, 'backup'].map((part) => ({ part, ...missing }));
  return [...parts, ...(await examineMachine(config, null, { isKnown: true, platform: null }))];
};

/** Finds settings that are wrong if processes run on several machines. `annals start` runs all of them on this machine. */
const examineCluster = (config: Config): Finding[] =>
  isStartedHere(config) ? [] : clusterProblems(config).map(({ message, advice }) => ({ part: 'cluster', ...warn(message, advice) }));

const examinePlatform = async (config: Config, services: ServiceLocations): Promise<Finding[]> => {
  const { finding, expected } = await examineStore(config, services.eventstoreUrl);
  const isStarted = !expected.isKnown || expected.platform !== null;
  const [database, nats, files, machine, backup] = await Promise.all([
    examineDatabase(config, services.databaseUrl, isStarted),
    examineNats(config, services),
    examine('file store', 'correct BLOBS_URL, or start the object store', () => checkBlobStore(config)),
    examineMachine(config, services.eventstoreUrl, expected),
    examineBackup(config, isStarted),
  ]);
  return [finding, ...database, nats, files, ...machine, backup, ...examineCluster(config)];
};

/** Returns the exit code: 1 if a part does not work, otherwise 0, even if there are warnings. */
export const doctor = async (config: Config, { json }: { readonly json: boolean }): Promise<number> => {
  const services = findServices(config);
  const version = { part: 'version', ...ok(`annals ${packageJson.version}, Node ${process.versions.node}`) };
  const findings = [version, ...(await (services ? examinePlatform(config, services) : beforeFirstStart(config)))];
  const isOk = !findings.some(({ level }) => level === 'fail');
  if (json) printLine(JSON.stringify({ ok: isOk, findings }));
  if (!json) for (const line of findings.flatMap(findingLines)) printLine(line);
  return isOk ? 0 : 1;
};
