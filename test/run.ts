import { globSync, rmSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { COMPILE_CACHE } from '../infra/processes/compile-cache.ts';
import { unconfiguredEnvironment } from './fixtures/child-process.ts';
import type { Services } from './fixtures/given-services.ts';
import { type Running, startServices } from './fixtures/start-services.ts';
import { dropDatabases, RUN } from './fixtures/test-services.ts';
import { runInOrder } from './run-in-order.ts';
import { activeProcesses, limitOf, type Outcome, ownLimitOf, runJob } from './test-job.ts';

const root = `${import.meta.dirname}/..`;

const isLive = (file: string): boolean => file.endsWith('.live.test.ts');

/**
 * Returns the test files whose paths contain one of these parts. The slowest come first: files with a long time limit,
 * and then the other live tests. Otherwise, a slow file might run alone at the end.
 */
const matchingFiles = (parts: readonly string[]): string[] =>
  globSync('test/**/*.test.ts', { cwd: root })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .sort((a, b) => limitOf(b) - limitOf(a) || Number(isLive(b)) - Number(isLive(a)) || a.localeCompare(b));

const summary = ({ passed, failed, skipped }: Pick<Outcome, 'passed' | 'failed' | 'skipped'>): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

const report = (outcome: Outcome): void => {
  const { file, seconds, processorSeconds, failed, reason, output } = outcome;
  console.log(`${failed > 0 ? 'FAIL' : 'pass'}  ${file}  ${summary(outcome)}  ${seconds.toFixed(1)} s  ${processorSeconds.toFixed(1)} s of processor time`);
  if (reason) console.log(`      ${reason}`);
  if (failed > 0) console.log(output.trimEnd().replace(/^/gm, '    | '));
};

/** The maximum number of files that one process runs. */
const MAX_BATCH = 10;

/**
 * Groups files into those that one process runs one after another, because loading the modules takes longer than most
 * tests. A live test, and a file with a time limit of its own, runs in a process of its own.
 */
const jobsOf = (files: readonly string[]): string[][] => {
  const jobs: string[][] = [];
  let batch: string[] | undefined;
  for (const file of files) {
    const isAlone = isLive(file) || ownLimitOf(file) !== null;
    if (!isAlone && batch && batch.length < MAX_BATCH) batch.push(file);
    else {
      jobs.push([file]);
      if (!isAlone) batch = jobs.at(-1);
    }
  }
  return jobs;
};

const runAll = async (files: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  const run = async (job: readonly string[]): Promise<void> => {
    const found = await runJob(job, env);
    outcomes.push(...found);
    found.forEach(report);
  };
  await runInOrder(jobsOf(files).map((job) => () => run(job)));
  return outcomes;
};

/**
 * Returns the environment for a test file. Variables that configure Annals are left out, so that the developer's
 * settings have no effect. Variables that begin with TEST_ are read only by tests.
 */
const environment = ({ eventstoreUrl, databaseUrl, natsUrl, natsAccountSeed, natsRunnerAccountSeed }: Services): NodeJS.ProcessEnv => ({
  ...unconfiguredEnvironment(),
  NO_COLOR: '1',
  // Use Node's compile cache: otherwise, a small test file spends half of its processor time on compiling the modules
  // that it imports.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || COMPILE_CACHE,
  TEST_EVENTSTORE_URL: eventstoreUrl,
  TEST_DATABASE_URL: databaseUrl,
  TEST_NATS_URL: natsUrl,
  ...(natsAccountSeed && { TEST_NATS_ACCOUNT_SEED: natsAccountSeed }),
  ...(natsRunnerAccountSeed && { TEST_NATS_RUNNER_ACCOUNT_SEED: natsRunnerAccountSeed }),
  TEST_RUN: RUN,
});

const stop = async ({ services, supervised, dir }: Running): Promise<void> => {
  if (process.env.DATABASE_URL) await dropDatabases(services.databaseUrl).catch((error: Error) => console.error(error.message));
  await Promise.all(supervised.map((each) => each.stop()));
  rmSync(dir, { recursive: true, force: true });
};

const main = async (parts: readonly string[]): Promise<number> => {
  const files = matchingFiles(parts);
  if (files.length === 0) throw new Error(`no file test/**/*.test.ts has ${parts.join(' or ')} in its name`);
  // Loading the definitions of the projections takes time. Do it while the services start.
  const [running, { createTemplate }] = await Promise.all([startServices(), import('./fixtures/template-database.ts')]);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const child of activeProcesses) child.kill('SIGTERM');
      void stop(running).finally(() => process.exit(1));
    });
  const outcomes = await createTemplate(running.services.databaseUrl)
    .then(() => runAll(files, environment(running.services)))
    .finally(() => stop(running));
  const sum = (field: 'passed' | 'failed' | 'skipped'): number => outcomes.reduce((total, outcome) => total + outcome[field], 0);
  const totals = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  const bad = outcomes.filter(({ failed }) => failed > 0).map(({ file }) => relative('test', file));
  console.log(`\n${files.length} files${bad.length > 0 ? `; failures in ${bad.join(', ')}` : ''}\n${summary(totals)}`);
  return totals.failed > 0 ? 1 : 0;
};

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.log(`${error.message}\n0 passed, 1 failed`);
  return 1;
});
