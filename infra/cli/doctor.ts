import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PLATFORM } from '../../domain/event.ts';
import type { WrappedKeys } from '../../domain/wrapped-key.ts';
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { listenUrl, loopback } from '../listen-url.ts';
import { connectNats } from '../nats/connect.ts';
import { assertStreamIsOurs } from '../nats/jetstream.ts';
import { isUnsafeVersion, MIN_SAFE_VERSION } from '../nats/server-version.ts';
import { waitingReactors } from '../projector/reactor-status.ts';
import { type PublishedStatus, publishedStatuses, WORKER_SILENT_SECONDS } from '../projector/status.ts';
import { loadMasterKey } from '../vault/master-key.ts';
import { readWrappedKeys, unwrapKey } from '../vault/wrapped-keys.ts';
import { locateServices, reasonOf } from './locate-services.ts';

type Finding = { readonly what: string; readonly ok: boolean; readonly says: string; readonly cure?: string };

const CHECK_TIMEOUT_MS = 5_000;
const MIN_POSTGRES_VERSION = 150_000;
const LITTLE_SPACE = 1024 ** 3;

const inTime = <T>(work: Promise<T>): Promise<T> =>
  Promise.race([
    work,
    sleep(CHECK_TIMEOUT_MS, undefined, { ref: false }).then(() =>
      Promise.reject(new Error(`no answer within ${CHECK_TIMEOUT_MS / 1_000} s`)),
    ),
  ]);

const examined = async (what: string, cure: string, look: () => Promise<string>): Promise<Finding> => {
  try {
    return { what, ok: true, says: await inTime(look()) };
  } catch (error) {
    return { what, ok: false, says: reasonOf(error), cure };
  }
};

const store = async (url: string): Promise<string> => {
  const log = openLog(url);
  try {
    const began = performance.now();
    await log.ping();
    const marked = await log.last('platform-platform.first');
    return `answers in ${Math.round(performance.now() - began)} ms, ${marked ? 'holds a platform' : 'is empty'}`;
  } finally {
    await log.close();
  }
};

type Found = { version: string; number: number; may_create: boolean; foreign_schemas: string | null };

/** Schemas that bear the names of projections are not ours where the engine's own table was never made. */
const LOOK = `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
  has_database_privilege(current_database(), 'create') as may_create,
  (select string_agg(nspname, ', ') from pg_namespace where nspname = any($1) and to_regclass('annals.checkpoints') is null) as foreign_schemas`;

const asked = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CHECK_TIMEOUT_MS });
  await client.connect();
  return work(client).finally(() => client.end());
};

const postgres = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query<Found>(LOOK, [projections.map(({ name }) => name)]);
  const { version, number, may_create, foreign_schemas } = rows[0]!;
  if (number < MIN_POSTGRES_VERSION) throw new Error(`version ${version} is older than 15`);
  if (!may_create) throw new Error('its user may not make schemas in this database: grant it CREATE there');
  if (foreign_schemas) throw new Error(`a database of its own is needed: this one has somebody else's schemas ${foreign_schemas}`);
  return `version ${version}`;
};

/** None where no worker has made the tables yet. */
const statuses = async (client: pg.Client): Promise<PublishedStatus[]> => {
  const { rows } = await client.query<{ ran: boolean }>("select to_regclass('annals.reactors') is not null as ran");
  return rows[0]!.ran ? publishedStatuses(client) : [];
};

const worker = async (client: pg.Client): Promise<string> => {
  const [heard] = (await statuses(client)).sort((a, b) => a.silent_seconds - b.silent_seconds);
  if (!heard) throw new Error('none has ever run on this database');
  const { writer, silent_seconds } = heard;
  if (silent_seconds > WORKER_SILENT_SECONDS)
    throw new Error(`none was heard of for ${Math.round(silent_seconds)} s, ${writer} was the last`);
  const waiting = await waitingReactors(client);
  if (waiting.length > 0) throw new Error(waiting.map(({ name, reason }) => `${name} waits: ${reason}`).join('; '));
  return `${writer} was heard of ${silent_seconds.toFixed(1)} s ago`;
};

const parked = async (client: pg.Client): Promise<string> => {
  const parking = (await statuses(client)).filter(({ parked_streams }) => parked_streams > 0);
  if (parking.length > 0)
    throw new Error(`streams are parked: ${parking.map(({ name, parked_streams }) => `${name}: ${parked_streams}`).join(', ')}`);
  return 'no stream is parked';
};

const nats = async (config: Pick<Config, 'natsUrl' | 'natsAccountSeed'>): Promise<string> => {
  const connection = await connectNats(config, { waitForServer: false });
  try {
    const { version = '' } = connection.info ?? {};
    await (await connection.jetstreamManager()).getAccountInfo();
    await assertStreamIsOurs(connection);
    if (isUnsafeVersion(version))
      throw new Error(`version ${version} may lose streams when it is killed; ${MIN_SAFE_VERSION} is the oldest that does not`);
    return `version ${version}, JetStream is on${config.natsAccountSeed ? '' : '; no runner is let in without NATS_ACCOUNT_SEED'}`;
  } finally {
    await connection.close();
  }
};

/** Nothing to compare with where the log is empty, or cannot be read, which is told elsewhere. */
const wrappedIn = async (url: string): Promise<WrappedKeys> => {
  const log = openLog(url);
  return readWrappedKeys(log, PLATFORM, 'name')
    .catch(() => [])
    .finally(() => log.close());
};

const fittingKey = async (file: string, url: string): Promise<string> => {
  if (!existsSync(file)) throw new Error(`${file} is not there`);
  const mode = statSync(file).mode & 0o777;
  if (mode & 0o077) throw new Error(`${file} is open to others (mode ${mode.toString(8)})`);
  const key = await loadMasterKey(file, false);
  const [wrapped] = await wrappedIn(url);
  if (wrapped) unwrapKey(key, PLATFORM, 'name', wrapped);
  return `${file}: keep a copy apart from the log`;
};

/** The directory, or the nearest above it that is there: on clusters nothing makes it but a runner. */
const existing = (dir: string): string => (existsSync(dir) ? dir : existing(dirname(dir)));

const space = async ({ annalsData }: Config): Promise<string> => {
  const { bavail, bsize } = statfsSync(existing(annalsData));
  const free = bavail * bsize;
  if (free < LITTLE_SPACE) throw new Error(`${Math.round(free / 1024 ** 2)} MiB are free`);
  return `${Math.round(free / 1024 ** 3)} GiB are free`;
};

const service = async (url: string): Promise<string> => {
  const response = await fetch(`${url}/readyz`).catch(() => {
    throw new Error(`nothing answers at ${url}`);
  });
  const { degraded } = (await response.json().catch(() => {
    throw new Error(`what answers at ${url} is no Annals service`);
  })) as { degraded: string[] };
  if (!response.ok) throw new Error('is not ready: it does not accept deliveries');
  if (degraded.length > 0) throw new Error(`accepts deliveries, but is degraded: ${degraded.join(', ')}`);
  return 'ready';
};

const startOf = ({ annalsData, eventstoreUrl, databaseUrl, natsUrl }: Config): string =>
  eventstoreUrl && databaseUrl && natsUrl ? 'start it: annals serve, annals work' : `look at ${annalsData}/logs, or start it: npm start`;

const BROKER = `start ${MIN_SAFE_VERSION} or later of it with JetStream, or correct NATS_URL and NATS_ACCOUNT_SEED`;
const PARKED = 'GET /admin/projections/<name>/parked says why; POST …/parked/<event_id>/retry once that is mended';

/** What stands in the database, where that can be asked. */
const views = async (config: Config, url: string): Promise<Finding[]> => {
  const database = await examined('Postgres', config.databaseUrl ? 'start it, or correct DATABASE_URL' : startOf(config), () =>
    asked(url, postgres),
  );
  if (!database.ok) return [database];
  return Promise.all([
    database,
    examined('worker', startOf(config), () => asked(url, worker)),
    examined('projections', PARKED, () => asked(url, parked)),
  ]);
};

/** Looks at everything the platform stands on and says what to do about what is wrong. Resolves to the exit code: 1 where something is. */
export const doctor = async (config: Config): Promise<number> => {
  const { eventstoreUrl, databaseUrl, ...broker } = locateServices(config);
  const own = config.annalsUrl ?? loopback(listenUrl(config));
  const [[database, ...others], ...findings] = await Promise.all([
    views(config, databaseUrl),
    examined('event store', config.eventstoreUrl ? 'start it, or correct EVENTSTORE_URL' : startOf(config), () => store(eventstoreUrl)),
    ...(broker.natsUrl ? [examined('NATS', config.natsUrl ? BROKER : startOf(config), () => nats(broker))] : []),
    examined('master key', 'the first start makes it; later put it back from its copy, or correct MASTER_KEY_FILE; chmod 600', () =>
      fittingKey(config.masterKeyFile, eventstoreUrl),
    ),
    examined('disk', `make room where ANNALS_DATA (${config.annalsData}) lies`, () => space(config)),
    examined('service', startOf(config), () => service(own)),
  ]);
  const all = [findings[0]!, database!, ...findings.slice(1), ...others];
  for (const { what, ok, says, cure } of all)
    console.log(`${ok ? 'ok  ' : 'FAIL'}  ${what.padEnd(12)} ${says}${cure ? `\n      -> ${cure}` : ''}`);
  return all.every(({ ok }) => ok) ? 0 : 1;
};
