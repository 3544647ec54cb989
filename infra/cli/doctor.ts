import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { listenUrl, loopback } from '../listen-url.ts';
import { MIN_SAFE_VERSION } from '../nats/server-version.ts';
import {
  checkDiskSpace,
  checkHttpService,
  checkMasterKey,
  checkNats,
  checkParkedStreams,
  checkPostgres,
  checkStore,
  checkWorker,
  withPostgres,
} from './health-checks.ts';
import { locateServices, reasonOf } from './locate-services.ts';

/** The result of the check of one part of the platform. If the part does not work, `advice` says what to do. */
type Finding = { readonly part: string; readonly message: string; readonly advice?: string };

const CHECK_TIMEOUT_MS = 5_000;

const timeout = (): Promise<never> =>
  sleep(CHECK_TIMEOUT_MS, undefined, { ref: false }).then(() =>
    Promise.reject(new Error(`no answer within ${CHECK_TIMEOUT_MS / 1_000} s`)),
  );

const examine = async (part: string, advice: string, check: () => Promise<string>): Promise<Finding> => {
  try {
    return { part, message: await Promise.race([check(), timeout()]) };
  } catch (error) {
    return { part, message: reasonOf(error), advice };
  }
};

const startAdvice = ({ annalsData, eventstoreUrl, databaseUrl, natsUrl }: Config): string =>
  eventstoreUrl && databaseUrl && natsUrl
    ? 'start annals serve and annals work'
    : `read the logs in ${annalsData}/logs, or start the platform: npm start`;

const NATS_ADVICE = `start nats-server ${MIN_SAFE_VERSION} or later with JetStream, or correct NATS_URL and NATS_ACCOUNT_SEED`;
const MASTER_KEY_ADVICE =
  'the first start creates it; if it was lost, restore its copy or correct MASTER_KEY_FILE; make it private with chmod 600';
const PARKED_ADVICE =
  'GET /admin/projections/<name>/parked shows the reason; once it is fixed, POST /admin/projections/<name>/parked/<event_id>/retry';

/**
 * Checks the database and the parts that store their state in it. If the database does not work, the other parts are
 * not checked.
 */
const examineDatabase = async (config: Config, url: string): Promise<[Finding, ...Finding[]]> => {
  const advice = config.databaseUrl ? 'start it, or correct DATABASE_URL' : startAdvice(config);
  const database = await examine('Postgres', advice, () => withPostgres(url, checkPostgres));
  if (database.advice) return [database];
  const [worker, parked] = await Promise.all([
    examine('worker', startAdvice(config), () => withPostgres(url, checkWorker)),
    examine('projections', PARKED_ADVICE, () => withPostgres(url, checkParkedStreams)),
  ]);
  return [database, worker, parked];
};

const print = ({ part, message, advice }: Finding): void =>
  console.log(`${advice ? 'FAIL' : 'ok  '}  ${part.padEnd(12)} ${message}${advice ? `\n      -> ${advice}` : ''}`);

/** Checks every service and setting, and prints what to do about problems. @returns the exit code: 1 if there is a problem */
export const doctor = async (config: Config): Promise<number> => {
  const { eventstoreUrl, databaseUrl, ...broker } = locateServices(config);
  const { annalsData, masterKeyFile, annalsUrl } = config;
  const storeAdvice = config.eventstoreUrl ? 'start it, or correct EVENTSTORE_URL' : startAdvice(config);
  const natsAdvice = config.natsUrl ? NATS_ADVICE : startAdvice(config);
  const [store, [database, ...projector], ...others] = await Promise.all([
    examine('event store', storeAdvice, () => checkStore(eventstoreUrl)),
    examineDatabase(config, databaseUrl),
    ...(broker.natsUrl ? [examine('NATS', natsAdvice, () => checkNats(broker))] : []),
    examine('master key', MASTER_KEY_ADVICE, () => checkMasterKey(masterKeyFile, eventstoreUrl)),
    examine('disk', `free disk space for ANNALS_DATA (${annalsData})`, () => checkDiskSpace(annalsData)),
    examine('service', startAdvice(config), () => checkHttpService(annalsUrl ?? loopback(listenUrl(config)))),
  ]);
  const findings = [store, database, ...others, ...projector];
  findings.forEach(print);
  return findings.some(({ advice }) => advice) ? 1 : 0;
};
