import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { connect } from 'nats';
import pg from 'pg';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { SUBJECTS } from '../../infra/nats/jetstream.ts';
import { projections } from '../../projections/registry.ts';
import { root } from '../fixtures/child-process.ts';
import { type Fixture, fill } from './dataset.ts';
import { startAnnals, stopPrograms } from './platform.ts';
import { viewed } from './workloads.ts';

/**
 * How Annals takes part in ../shared/bench: `node test/bench/peer-prepare.ts --target` prints its entry for targets.json.
 * It runs on that bench's own PostgreSQL and nats-server, as its peers do; the event store is its own and counts as part of it.
 */
const HERE = {
  ANNALS_DATA: join(process.env.BENCH_HOME ?? '/tmp/peer-bench', 'annals'),
  PORT: '7601',
  DATABASE_URL: 'postgres://bench@127.0.0.1:7432/annals',
  NATS_URL: 'nats://127.0.0.1:7422',
  LOG_LEVEL: 'warn',
};
const MAX_IN_SAMPLE = 10_000;

const env = Object.fromEntries(Object.entries(HERE).map(([name, value]) => [name, process.env[name] ?? value])) as typeof HERE;

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

const onServer = async <T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const server = new URL(databaseUrl);
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  return work(client).finally(() => client.end());
};

/** Puts an empty database, or a copy of another one that nobody uses, in the place of a database. */
const replaceDatabase = async (client: pg.Client, name: string, template: string): Promise<void> => {
  await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
  await client.query(`create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)}`);
};

export const emptyDatabase = (databaseUrl: string): Promise<void> =>
  onServer(databaseUrl, (client) => replaceDatabase(client, new URL(databaseUrl).pathname.slice(1), 'template1'));

const copyDatabase = (from: string, to: string): Promise<void> => onServer(env.DATABASE_URL, (client) => replaceDatabase(client, to, from));

const hasDatabase = (name: string): Promise<boolean> =>
  onServer(env.DATABASE_URL, async (client) => (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1);

/** The bench's other targets have streams on the same server: only ours go. */
const emptyBroker = async (natsUrl: string): Promise<void> => {
  const nats = await connect({ servers: natsUrl });
  const { streams } = await nats.jetstreamManager();
  for await (const { config } of streams.list()) if (config.name.startsWith(STREAM)) await streams.delete(config.name);
  await nats.close();
};

/** As many as the bench may address, spread evenly. */
const sampleOf = ({ agents, tenants }: Fixture): string[][] => {
  const size = Math.min(MAX_IN_SAMPLE, agents.length);
  return Array.from({ length: size }, (_, each) => agents[Math.floor((each * agents.length) / size)]!).map(({ id, tenant }) => [
    tenants[tenant]!.id,
    id,
  ]);
};

const handedOver = (fixture: Fixture) => ({
  tenants: fixture.tenants.map(({ id }) => id),
  keys: Object.fromEntries(fixture.tenants.map(({ id, key }) => [id, key])),
  integrations: fixture.integrations.map((one) => ({ ...one, tenant: fixture.tenants[one.tenant]!.id })),
  agents: sampleOf(fixture),
});

const sizes = {
  tenants: Number(process.env.BENCH_TENANTS ?? 20),
  integrations: Number(process.env.BENCH_INTEGRATIONS ?? 100),
  agents: Number(process.env.BENCH_AGENTS ?? 10_000),
};

/** What was prepared once is put back as it was: the bench keeps the ids and secrets of its first run for those that follow. */
const keptAs = (): { dir: string; database: string } => {
  const made = createHash('sha256')
    .update(JSON.stringify([sizes, projections.map(({ name, version }) => [name, version])]))
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
    .slice(0, 12);
  return { dir: `${env.ANNALS_DATA}-prepared-${made}`, database: `annals_prepared_${made}` };
};

const FIXTURE = 'fixture.json';
const LEFT_OUT = new Set(['run', 'logs']);

const copy = (from: string, to: string): void => {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
};

const make = async ({ dir, database }: ReturnType<typeof keptAs>): Promise<void> => {
  rmSync(env.ANNALS_DATA, { recursive: true, force: true });
  await Promise.all([emptyDatabase(env.DATABASE_URL), emptyBroker(env.NATS_URL)]);
  const annals = await startAnnals({ dir: env.ANNALS_DATA, port: Number(env.PORT), env });
  const fixture = await fill(annals.port, annals.key, sizes);
  await viewed({ annals, fixture });
  await annals.stop();
  await copyDatabase(new URL(env.DATABASE_URL).pathname.slice(1), database);
  copy(env.ANNALS_DATA, dir);
  writeFileSync(join(dir, FIXTURE), JSON.stringify(handedOver(fixture)));
};

const putBack = async ({ dir, database }: ReturnType<typeof keptAs>): Promise<void> => {
  copy(dir, env.ANNALS_DATA);
  await Promise.all([copyDatabase(database, new URL(env.DATABASE_URL).pathname.slice(1)), emptyBroker(env.NATS_URL)]);
};

const prepare = async (file: string): Promise<void> => {
  const kept = keptAs();
  const isKept = existsSync(join(kept.dir, FIXTURE)) && (await hasDatabase(kept.database));
  await (isKept ? putBack(kept) : make(kept));
  copyFileSync(join(kept.dir, FIXTURE), file);
};

if (import.meta.main) {
  const file = process.env.BENCH_FIXTURE;
  if (process.argv.includes('--target')) console.log(JSON.stringify(target(), null, 2));
  else if (file) await prepare(file).finally(stopPrograms);
  else console.log('BENCH_FIXTURE must name the file to write; --target prints the entry for targets.json');
}
