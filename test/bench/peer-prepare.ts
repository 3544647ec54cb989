import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { connect } from 'nats';
import pg from 'pg';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { SUBJECTS } from '../../infra/nats/jetstream.ts';
import { projections } from '../../projections/registry.ts';
import { root } from '../fixtures/child-process.ts';
import { type Dataset, fillPlatform } from './dataset.ts';
import { startPlatform, stopPrograms } from './platform.ts';
import { waitForProjections } from './workloads.ts';

/**
 * This program prepares Annals for the benchmark in ../shared/bench, which compares several programs (its "targets").
 * Like the other targets, Annals uses the PostgreSQL and nats-server of that benchmark. The embedded event store counts
 * as a part of Annals. `node test/bench/peer-prepare.ts --target` prints the entry for Annals in targets.json.
 */
const DEFAULTS = {
  ANNALS_DATA: join(process.env.BENCH_HOME ?? '/tmp/peer-bench', 'annals'),
  PORT: '7601',
  DATABASE_URL: 'postgres://bench@127.0.0.1:7432/annals',
  NATS_URL: 'nats://127.0.0.1:7422',
  LOG_LEVEL: 'warn',
};
const MAX_SAMPLE_SIZE = 10_000;

const env = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, process.env[name] ?? value])) as typeof DEFAULTS;

const target = () => ({
  name: 'annals',
  base: `http://127.0.0.1:${env.PORT}`,
  start: `node ${join(root, 'infra/main.ts')} start`,
  prepare: `node ${join(root, 'test/bench/peer-prepare.ts')}`,
  rebuild: `node ${join(root, 'test/bench/peer-rebuild.ts')}`,
  env,
  ready: '/readyz',
  webhook: '/hooks/inbound/{integration}',
  createAgent: '/tenant/{tenant}/agents',
  getAgent: '/tenant/{tenant}/agents/{agent}',
  listAgents: '/tenant/{tenant}/agents?limit=50',
  idAt: 'id',
  stream: STREAM,
  subject: SUBJECTS,
  note: 'events in an embedded store, views in Postgres, delivery over JetStream',
});

const withServer = async <T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const server = new URL(databaseUrl);
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  return work(client).finally(() => client.end());
};

/**
 * Replaces a database with a copy of the database `template`. No client may be connected to `template` during the copy.
 */
const replaceDatabase = async (client: pg.Client, name: string, template: string): Promise<void> => {
  await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
  await client.query(`create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)}`);
};

export const emptyDatabase = (databaseUrl: string): Promise<void> =>
  withServer(databaseUrl, (client) => replaceDatabase(client, new URL(databaseUrl).pathname.slice(1), 'template1'));

const copyDatabase = (from: string, to: string): Promise<void> =>
  withServer(env.DATABASE_URL, (client) => replaceDatabase(client, to, from));

const hasDatabase = (name: string): Promise<boolean> =>
  withServer(env.DATABASE_URL, async (client) => (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1);

/** Deletes the NATS streams of Annals. The streams of other targets on the same server remain. */
const emptyBroker = async (natsUrl: string): Promise<void> => {
  const nats = await connect({ servers: natsUrl });
  const { streams } = await nats.jetstreamManager();
  for await (const { config } of streams.list()) if (config.name.startsWith(STREAM)) await streams.delete(config.name);
  await nats.close();
};

/**
 * Returns the tenant ids and agent ids that the requests of the benchmark use: a sample at even intervals from all
 * agents.
 */
const sampleOf = ({ agents, tenants }: Dataset): string[][] => {
  const size = Math.min(MAX_SAMPLE_SIZE, agents.length);
  return Array.from({ length: size }, (_, each) => agents[Math.floor((each * agents.length) / size)]!).map(({ id, tenant }) => [
    tenants[tenant]!.id,
    id,
  ]);
};

const benchFixture = (dataset: Dataset) => ({
  tenants: dataset.tenants.map(({ id }) => id),
  keys: Object.fromEntries(dataset.tenants.map(({ id, key }) => [id, key])),
  integrations: dataset.integrations.map((one) => ({ ...one, tenant: dataset.tenants[one.tenant]!.id })),
  agents: sampleOf(dataset),
});

const sizes = {
  tenants: Number(process.env.BENCH_TENANTS ?? 20),
  integrations: Number(process.env.BENCH_INTEGRATIONS ?? 100),
  agents: Number(process.env.BENCH_AGENTS ?? 10_000),
};

/**
 * Returns where the snapshot of the prepared data is stored. Later runs restore the snapshot instead of preparing the
 * data again: the benchmark keeps the ids and secrets of its first run. The name of the snapshot contains everything
 * that determines the data.
 */
const snapshotName = (): { dir: string; database: string } => {
  const digest = createHash('sha256')
    .update(JSON.stringify([sizes, projections.map(({ name, version }) => [name, version])]))
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
    .slice(0, 12);
  return { dir: `${env.ANNALS_DATA}-prepared-${digest}`, database: `annals_prepared_${digest}` };
};

const FIXTURE = 'fixture.json';
const EXCLUDED = new Set(['run', 'logs']);

const copy = (from: string, to: string): void => {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => !EXCLUDED.has(basename(path)) });
};

const createSnapshot = async ({ dir, database }: ReturnType<typeof snapshotName>): Promise<void> => {
  rmSync(env.ANNALS_DATA, { recursive: true, force: true });
  await Promise.all([emptyDatabase(env.DATABASE_URL), emptyBroker(env.NATS_URL)]);
  const platform = await startPlatform({ dir: env.ANNALS_DATA, port: Number(env.PORT), env });
  const dataset = await fillPlatform(platform.port, platform.key, sizes);
  await waitForProjections({ platform, dataset });
  await platform.stop();
  await copyDatabase(new URL(env.DATABASE_URL).pathname.slice(1), database);
  copy(env.ANNALS_DATA, dir);
  writeFileSync(join(dir, FIXTURE), JSON.stringify(benchFixture(dataset)));
};

const restoreSnapshot = async ({ dir, database }: ReturnType<typeof snapshotName>): Promise<void> => {
  copy(dir, env.ANNALS_DATA);
  await Promise.all([copyDatabase(database, new URL(env.DATABASE_URL).pathname.slice(1)), emptyBroker(env.NATS_URL)]);
};

const prepare = async (file: string): Promise<void> => {
  const snapshot = snapshotName();
  const exists = existsSync(join(snapshot.dir, FIXTURE)) && (await hasDatabase(snapshot.database));
  await (exists ? restoreSnapshot(snapshot) : createSnapshot(snapshot));
  copyFileSync(join(snapshot.dir, FIXTURE), file);
};

if (import.meta.main) {
  const file = process.env.BENCH_FIXTURE;
  if (process.argv.includes('--target')) console.log(JSON.stringify(target(), null, 2));
  else if (file) await prepare(file).finally(stopPrograms);
  else console.log('BENCH_FIXTURE must name the file to write; --target prints the entry for targets.json');
}
