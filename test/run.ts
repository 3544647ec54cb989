import { rmSync } from 'node:fs';
import { COMPILE_CACHE } from '../infra/compile-cache.ts';
import type { Outcome } from './file-outcome.ts';
import { unconfiguredEnvironment } from './fixtures/child-process.ts';
import type { Services } from './fixtures/given-services.ts';
import type { StartedPlatform } from './fixtures/start-platforms.ts';
import { type Running, startServices } from './fixtures/start-services.ts';
import { dropDatabases, RUN } from './fixtures/test-services.ts';
import { secondsOfTree } from './processor-time.ts';
import { type RunOptions, runOptions } from './run-options.ts';
import { platformsInUse, startPlatformsOf } from './run-platforms.ts';
import { runQueue, type Worker } from './run-queue.ts';
import { reportFile, reportRun } from './run-report.ts';
import { needsOwnProcess, selectedFiles, startsPrograms } from './test-files.ts';
import { activeProcesses, startTestProcess, type TestProcess } from './test-process.ts';

/** Opens a worker that runs test files in one process, and in a new one when that has ended or has become too large. */
const openWorker = (env: NodeJS.ProcessEnv, onOutcome: (outcome: Outcome) => void): Worker<string> => {
  let shared: TestProcess | undefined;
  let lastFile = '';
  const close = async (used: TestProcess | undefined, file: string): Promise<void> => {
    const reason = await used?.close();
    if (reason)
      onOutcome({ file, passed: 0, failed: 1, skipped: 0, seconds: 0, processorSeconds: 0, importSeconds: 0, reason, output: '' });
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

/** @returns the outcomes of the files, and the processor time of the services and platforms that they share, by name */
const runAll = async (files: readonly string[], running: Running, platforms: readonly StartedPlatform[], env: NodeJS.ProcessEnv) => {
  const outcomes: Outcome[] = [];
  const onOutcome = (outcome: Outcome): void => {
    outcomes.push(outcome);
    reportFile(outcome);
  };
  const { mayRun, onPlatforms, seconds } = platformsInUse(files, platforms);
  await runQueue(files, () => onPlatforms(openWorker(env, onOutcome)), mayRun);
  const services = running.supervised.map(({ name, pid }) => [name, secondsOfTree(pid())] as const);
  return { outcomes, shared: new Map([...services, ...seconds]) };
};

/**
 * Returns the program that these files start (see `mainFile`): the bundle of this checkout. It is renewed if the code has
 * changed, which the first start of a platform would do otherwise. The code for it is loaded only if a file needs it.
 */
const programOf = async (files: readonly string[]): Promise<NodeJS.ProcessEnv> => {
  if (!files.some(startsPrograms)) return {};
  const [{ programPlace }, { entryPoint }] = await Promise.all([
    import('../infra/processes/program-copy.ts'),
    import('../infra/program.ts'),
  ]);
  return { TEST_PROGRAM: entryPoint('infra/main.ts', programPlace().root) };
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

const main = async (words: string[]): Promise<number> => {
  const startedAt = Date.now();
  const options = runOptions(words);
  const files = selectedFiles(options);
  if (files.length === 0) throw new Error(`no test file is selected by ${words.join(' ')}`);
  console.log(`${files.length} files; generated cases: ${options.share} % of them, seed ${options.seed}`);
  // Loading the definitions of the projections takes time. Do it while the services start.
  const [running, { createTemplate }, program] = await Promise.all([
    startServices(),
    import('./fixtures/template-database.ts'),
    programOf(files),
  ]);
  const platforms = await startPlatformsOf(files).catch(async (error) => {
    await stop(running, []);
    throw error;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const each of activeProcesses) each.kill();
      void stop(running, platforms).finally(() => process.exit(1));
    });
  const results = await createTemplate(running.services.databaseUrl)
    .then(() => runAll(files, running, platforms, { ...environment(running.services, platforms, options), ...program }))
    .finally(() => stop(running, platforms));
  return reportRun({ ...results, share: options.share, seconds: (Date.now() - startedAt) / 1_000 }).failed > 0 ? 1 : 0;
};

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.log(`${error.message}\n0 passed, 1 failed`);
  return 1;
});
