import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { nats } from '../infra/nats/embedded.ts';
import { store } from '../infra/pieces.ts';
import { postgres } from '../infra/postgres/embedded.ts';
import { freePort, startOf } from '../infra/process.ts';
import { type Ground, type Piece, type Supervised, supervise } from '../infra/supervisor.ts';
import { temporaryDir } from './temp.ts';

/** What live tests run against. */
export type Services = {
  eventstoreUrl: string;
  /** A superuser, or whoever DATABASE_URL names; tests make databases of their own there. */
  databaseUrl: string;
  natsUrl: string;
  /** Absent on a cluster of which only a user is known. */
  natsAccountSeed?: string;
};

export type Running = { services: Services; supervised: readonly Supervised[]; dir: string };

const { env } = process;
const ENDING_TRIES = 200;
const ENDING_PAUSE_MS = 5;

const given: Partial<Services> = {
  ...(env.EVENTSTORE_URL && { eventstoreUrl: env.EVENTSTORE_URL }),
  ...(env.DATABASE_URL && { databaseUrl: env.DATABASE_URL }),
  ...(env.NATS_URL && { natsUrl: env.NATS_URL, ...(env.NATS_ACCOUNT_SEED && { natsAccountSeed: env.NATS_ACCOUNT_SEED }) }),
};

/** Starts, in a directory of its own, each service that no variable names. */
export const startServices = async (): Promise<Running> => {
  const dir = temporaryDir();
  const ground: Ground = { logs: join(dir, 'logs'), run: join(dir, 'run'), say: (line) => console.error(line) };
  const supervised: Supervised[] = [];
  const run = async <P extends Piece>(piece: P): Promise<P> => {
    const running = supervise(piece, ground);
    supervised.push(running);
    await running.ready;
    return piece;
  };
  const own = async () => run(await postgres({ dir: join(dir, 'postgres'), port: await freePort(), durable: false }));
  const broker = async () => run(await nats({ dir: join(dir, 'nats'), port: await freePort() }));
  const log = async () => run(store({ dir: join(dir, 'store'), port: await freePort() }));
  const [database, delivery, events] = await Promise.all([
    given.databaseUrl ? undefined : own(),
    given.natsUrl ? undefined : broker(),
    given.eventstoreUrl ? undefined : log(),
  ]);
  return {
    dir,
    supervised,
    services: {
      ...(database && { databaseUrl: database.superuserUrl }),
      ...(delivery && { natsUrl: delivery.url, natsAccountSeed: delivery.accountSeed }),
      ...(events && { eventstoreUrl: events.url() }),
      ...given,
    } as Services,
  };
};

const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Ends what was started, within the one turn that an exiting process has. PostgreSQL's children only go when it is told to quit. */
const endNow = ({ supervised, dir }: Running): void => {
  const pids = supervised.flatMap((each) => each.pid() ?? []);
  for (const each of supervised) each.kill(each.name === 'postgres' ? 'SIGQUIT' : 'SIGKILL');
  for (let tries = 0; tries < ENDING_TRIES && pids.some((pid) => startOf(pid)); tries++) pause(ENDING_PAUSE_MS);
  rmSync(dir, { recursive: true, force: true });
};

const startForThisProcess = async (): Promise<Services> => {
  const running = await startServices();
  for (const each of running.supervised) each.unref();
  process.once('exit', () => endNow(running));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  return running.services;
};

const handedOn = (): Services | undefined =>
  env.TEST_EVENTSTORE_URL && env.TEST_DATABASE_URL && env.TEST_NATS_URL
    ? {
        eventstoreUrl: env.TEST_EVENTSTORE_URL,
        databaseUrl: env.TEST_DATABASE_URL,
        natsUrl: env.TEST_NATS_URL,
        ...(env.TEST_NATS_ACCOUNT_SEED && { natsAccountSeed: env.TEST_NATS_ACCOUNT_SEED }),
      }
    : undefined;

let found: Promise<Services> | undefined;

/** The services that the runner started or the environment names; a file run by hand starts its own, which end with it. */
export const services = (): Promise<Services> => {
  found ??= Promise.resolve(handedOn() ?? startForThisProcess());
  return found;
};

const onServer = async <R extends pg.QueryResultRow>(url: string, sql: string): Promise<R[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client
    .query<R>(sql)
    .then(({ rows }) => rows)
    .finally(() => client.end());
};

const ONE_RUN = /^[0-9a-f]{12}$/;
/** In the name of every database that one run makes, so that it drops its own and nobody else's. */
export const RUN = ONE_RUN.test(env.TEST_RUN ?? '') ? env.TEST_RUN! : randomBytes(6).toString('hex');
const PREFIX = `annals_test_${RUN}_`;

/** Drops what this run has made on a server that is not ours to throw away; also after a file that had to be ended. */
export const dropDatabases = async (databaseUrl: string): Promise<void> => {
  const names = await onServer<{ datname: string }>(databaseUrl, `select datname from pg_database where starts_with(datname, '${PREFIX}')`);
  for (const { datname } of names) await onServer(databaseUrl, `drop database if exists ${datname} with (force)`);
};

const create = (databaseUrl: string, name: string): Promise<unknown> =>
  onServer(databaseUrl, `create database ${name}`).catch((error: Error) => {
    throw new Error(`tests make databases of their own beside the one of DATABASE_URL, and its user could not: ${error.message}`);
  });

let dropsAtEnd = false;

/** A file that is run by hand is its own run; else the runner drops, at its end, what all of them made. */
const dropAtEnd = (): void => {
  const { databaseUrl } = given;
  if (dropsAtEnd || !databaseUrl) return;
  dropsAtEnd = true;
  process.once('beforeExit', () => void dropDatabases(databaseUrl).catch(() => {}));
};

/** The URL of an empty database that nobody else uses. */
export const freshDatabase = async (): Promise<string> => {
  const { databaseUrl } = await services();
  const name = PREFIX + randomBytes(4).toString('hex');
  await create(databaseUrl, name);
  dropAtEnd();
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
};
