import { rmSync } from 'node:fs';
import { COMPILE_CACHE } from '../infra/processes/compile-cache.ts';
import type { Outcome } from './file-outcome.ts';
import { unconfiguredEnvironment } from './fixtures/child-process.ts';
import { PLATFORM_KINDS, type PlatformKind } from './fixtures/given-platforms.ts';
import type { Services } from './fixtures/given-services.ts';
import type { StartedPlatform } from './fixtures/start-platforms.ts';
import { type Running, startServices } from './fixtures/start-services.ts';
import { dropDatabases, RUN } from './fixtures/test-services.ts';
import { type RunOptions, runOptions } from './run-options.ts';
import { runQueue, type Worker } from './run-queue.ts';
import { reportFile, reportRun } from './run-report.ts';
import { needsOwnProcess, selectedFiles, usesPlatform } from './test-files.ts';
import { activeProcesses, startTestProcess, type TestProcess } from './test-process.ts';

/** Opens a worker that runs test files in one process, and in a new one when that has ended or has become too large. */
const openWorker = (env: NodeJS.ProcessEnv, onOutcome: (outcome: Outcome) => void): Worker<string> => {
  let shared: TestProcess | undefined;
  let lastFile = '';
  const close = async (used: TestProcess | undefined, file: string): Promise<void> => {
    const reason = await used?.close();
    if (reason) onOutcome({ file, passed: 0, failed: 1, skipped: 0, seconds: 0, processorSeconds: 0, reason, output: '' });
  };
  const run = async (file: string): Promise<void> => {
    if (needsOwnProcess(file)) {
      const own = startTestProcess(env);
      onOutcome(await own.run(file));
      return close(own, file);
    }
    shared ??= startTestProcess(env);
    onOutcome(await shared.run(file));
    lastFile = file;
    if (shared.isUsable()) return;
    await close(shared, file);
    shared = undefined;
  };
  return { run, close: () => close(shared, lastFile) };
};

/** Lets only one file at a time run that uses the platform that is lent to files. */
const lending = (worker: () => Worker<string>): { mayRun: (file: string) => boolean; openWorker: () => Worker<string> } => {
  let isLent = false;
  const mayRun = (file: string): boolean => !(isLent && usesPlatform(file, 'lent'));
  const openWorker = (): Worker<string> => {
    const { run, close } = worker();
    const runLent = async (file: string): Promise<void> => {
      isLent = true;
      await run(file).finally(() => {
        isLent = false;
      });
    };
    return { run: (file) => (usesPlatform(file, 'lent') ? runLent(file) : run(file)), close };
  };
  return { mayRun, openWorker };
};

const runAll = async (files: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  const onOutcome = (outcome: Outcome): void => {
    outcomes.push(outcome);
    reportFile(outcome);
  };
  const lent = lending(() => openWorker(env, onOutcome));
  await runQueue(files, lent.openWorker, lent.mayRun);
  return outcomes;
};

/**
 * Returns the environment for a test file. Variables that configure Annals are left out, so that the developer's
 * settings have no effect. Variables that begin with TEST_ are read only by tests.
 */
const environment = (services: Services, platforms: readonly StartedPlatform[], { share, seed }: RunOptions): NodeJS.ProcessEnv => ({
  ...unconfiguredEnvironment(),
  NO_COLOR: '1',
  // Use Node's compile cache: otherwise, a small test file spends half of its processor time on compiling the modules
  // that it imports.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || COMPILE_CACHE,
  TEST_EVENTSTORE_URL: services.eventstoreUrl,
  TEST_DATABASE_URL: services.databaseUrl,
  TEST_NATS_URL: services.natsUrl,
  ...(services.natsAccountSeed && { TEST_NATS_ACCOUNT_SEED: services.natsAccountSeed }),
  ...(services.natsRunnerAccountSeed && { TEST_NATS_RUNNER_ACCOUNT_SEED: services.natsRunnerAccountSeed }),
  ...Object.fromEntries(platforms.map(({ variable }) => variable)),
  TEST_RUN: RUN,
  TEST_SHARE: share,
  TEST_SEED: String(seed),
});

const stop = async ({ services, supervised, dir }: Running, platforms: readonly StartedPlatform[]): Promise<void> => {
  await Promise.all(platforms.map((each) => each.close()));
  if (process.env.DATABASE_URL) await dropDatabases(services.databaseUrl).catch((error: Error) => console.error(error.message));
  await Promise.all(supervised.map((each) => each.stop()));
  rmSync(dir, { recursive: true, force: true });
};

/** Starts a platform of each of these kinds. The code for it is loaded only if there is one to start. */
const platformsOf = async (kinds: readonly PlatformKind[]): Promise<StartedPlatform[]> =>
  kinds.length === 0 ? [] : (await import('./fixtures/start-platforms.ts')).startPlatforms(kinds);

const main = async (words: string[]): Promise<number> => {
  const startedAt = Date.now();
  const options = runOptions(words);
  const files = selectedFiles(options);
  if (files.length === 0) throw new Error(`no test file is selected by ${words.join(' ')}`);
  console.log(`${files.length} files; generated cases: ${options.share} % of them, seed ${options.seed}`);
  // Loading the definitions of the projections takes time. Do it while the services start.
  const kinds = PLATFORM_KINDS.filter((kind) => files.some((file) => usesPlatform(file, kind)));
  const [running, { createTemplate }] = await Promise.all([startServices(), import('./fixtures/template-database.ts')]);
  const platforms = await platformsOf(kinds).catch(async (error) => {
    await stop(running, []);
    throw error;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const each of activeProcesses) each.kill();
      void stop(running, platforms).finally(() => process.exit(1));
    });
  const outcomes = await createTemplate(running.services.databaseUrl)
    .then(() => runAll(files, environment(running.services, platforms, options)))
    .finally(() => stop(running, platforms));
  return reportRun(outcomes, (Date.now() - startedAt) / 1_000).failed > 0 ? 1 : 0;
};

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.log(`${error.message}\n0 passed, 1 failed`);
  return 1;
});
