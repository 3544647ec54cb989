import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import pg from 'pg';
import { unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { type Running, startServices } from '../fixtures/start-services.ts';
import { createTemplate } from '../fixtures/template-database.ts';
import { createDatabase, databaseName, dropDatabases } from '../fixtures/test-services.ts';

/** The services that the tests of all mutants use. */
export type TestServices = {
  /** Returns the environment of a new test process, which has its own template database. */
  readonly openRun: () => Promise<TestRun>;
  readonly stop: () => Promise<void>;
};

/** The environment of test processes. `clear` drops the databases that they have created. */
export type TestRun = { readonly env: NodeJS.ProcessEnv; readonly clear: () => Promise<void> };

const environment = ({ services }: Running, run: string): NodeJS.ProcessEnv => ({
  ...unconfiguredEnvironment(),
  NO_COLOR: '1',
  TEST_EVENTSTORE_URL: services.eventstoreUrl,
  TEST_DATABASE_URL: services.databaseUrl,
  TEST_NATS_URL: services.natsUrl,
  ...(services.natsAccountSeed && { TEST_NATS_ACCOUNT_SEED: services.natsAccountSeed }),
  ...(services.natsRunnerAccountSeed && { TEST_NATS_RUNNER_ACCOUNT_SEED: services.natsRunnerAccountSeed }),
  TEST_RUN: run,
  TEST_SHARE: '0-10',
  TEST_SEED: '1',
});

/** Drops the databases whose names begin with `prefix`, except `kept`. */
const dropOthers = async (databaseUrl: string, prefix: string, kept: string): Promise<void> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const sql = 'select datname from pg_database where starts_with(datname, $1) and datname <> $2';
    const { rows } = await client.query<{ datname: string }>(sql, [prefix, kept]);
    for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`);
  } finally {
    await client.end();
  }
};

const openRun = async (running: Running): Promise<TestRun> => {
  const run = randomBytes(6).toString('hex');
  const { databaseUrl } = running.services;
  const template = `annals_test_${run}_template`;
  await createDatabase(databaseUrl, template, databaseName('template'));
  return { env: environment(running, run), clear: () => dropOthers(databaseUrl, `annals_test_${run}_`, template) };
};

export const startTestServices = async (): Promise<TestServices> => {
  const running = await startServices();
  await createTemplate(running.services.databaseUrl);
  const stop = async (): Promise<void> => {
    if (process.env.DATABASE_URL) await dropDatabases(running.services.databaseUrl);
    await Promise.all(running.supervised.map((each) => each.stop()));
    rmSync(running.dir, { recursive: true, force: true });
  };
  return { openRun: () => openRun(running), stop };
};
