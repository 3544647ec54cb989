import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'nats';
import pg from 'pg';
import { STREAM } from '../../domain/runner-credential.ts';
import { SUBJECTS } from '../../infra/nats/stream.ts';
import { root } from '../process.ts';
import { startAnnals, stopPrograms } from './annals.ts';
import { type Fixture, fill } from './fixture.ts';
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
const MOST_IN_SAMPLE = 10_000;

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

export const emptyDatabase = async (databaseUrl: string): Promise<void> => {
  const server = new URL(databaseUrl);
  const name = pg.escapeIdentifier(server.pathname.slice(1));
  server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  await client.query(`drop database if exists ${name} with (force)`);
  await client.query(`create database ${name}`);
  await client.end();
};

/** The bench's other targets have streams on the same server: only ours go. */
const emptyBroker = async (natsUrl: string): Promise<void> => {
  const nats = await connect({ servers: natsUrl });
  const { streams } = await nats.jetstreamManager();
  for await (const { config } of streams.list()) if (config.name.startsWith(STREAM)) await streams.delete(config.name);
  await nats.close();
};

/** As many as the bench may address, spread evenly. */
const sampleOf = ({ agents, tenants }: Fixture): string[][] => {
  const size = Math.min(MOST_IN_SAMPLE, agents.length);
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

const prepare = async (file: string): Promise<void> => {
  rmSync(env.ANNALS_DATA, { recursive: true, force: true });
  await Promise.all([emptyDatabase(env.DATABASE_URL), emptyBroker(env.NATS_URL)]);
  const annals = await startAnnals({ dir: env.ANNALS_DATA, port: Number(env.PORT), env });
  const fixture = await fill(annals.port, annals.key, sizes);
  await viewed({ annals, fixture });
  await annals.stop();
  writeFileSync(file, JSON.stringify(handedOver(fixture)));
};

if (import.meta.main) {
  const file = process.env.BENCH_FIXTURE;
  if (process.argv.includes('--target')) console.log(JSON.stringify(target(), null, 2));
  else if (file) await prepare(file).finally(stopPrograms);
  else console.log('BENCH_FIXTURE must name the file to write; --target prints the entry for targets.json');
}
