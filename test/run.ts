import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { COMPILE_CACHE } from '../infra/processes/compile-cache.ts';
import { unconfiguredEnvironment } from './fixtures/child-process.ts';
import type { Services } from './fixtures/given-services.ts';
import { deadline, loadFactor } from './fixtures/load-factor.ts';
import { type Running, startServices } from './fixtures/start-services.ts';
import { dropDatabases, RUN } from './fixtures/test-services.ts';
import { runInOrder } from './run-in-order.ts';

type Outcome = { file: string; passed: number; failed: number; skipped: number; seconds: number; reason?: string; output: string };

const DEFAULT_TIMEOUT_S = 120;
/**
 * After its last test, a test file has to close its servers and connections. This is the maximum time for that on an
 * idle machine.
 */
const CLOSE_TIMEOUT_MS = 15_000;
const LIMIT_CHECK_INTERVAL_MS = 1_000;
/** The time between SIGTERM and SIGKILL for a test file that must end. */
const KILL_DELAY_MS = 2_000;

const root = `${import.meta.dirname}/..`;

/**
 * Returns the time limit of a test file in seconds, for an idle machine. The file's first line can set the limit by a
 * comment `limit: <seconds>`.
 */
const limitOf = (file: string): number =>
  Number(/^\/\/ limit: (\d+)/.exec(readFileSync(`${root}/${file}`, 'utf8'))?.[1] ?? DEFAULT_TIMEOUT_S);

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

type Counts = { total: number; passed: number; skipped: number };

/**
 * Reads the counts from the summary that the test library uvu prints at the end of a file. @returns undefined if there
 * is no summary yet
 */
const countsIn = (output: string): Counts | undefined => {
  const found = [...output.matchAll(/^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)$/gm)].at(-1);
  return found && { total: Number(found[1]), passed: Number(found[2]), skipped: Number(found[3]) };
};

const end = (child: ChildProcess): void => {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), KILL_DELAY_MS).unref();
};

const failureReason = (counts: Counts | undefined, how: string, overdue: string | undefined): string | undefined => {
  if (overdue) return overdue;
  if (!counts) return `gave no result (${how})`;
  if (counts.total + counts.skipped === 0) return 'ran no test: does it end in test.run()?';
  return how === 'code 0' || counts.passed < counts.total ? undefined : `ended with ${how} after its tests`;
};

/**
 * Returns the outcome of one file. A problem that does not belong to a test, such as a timeout, counts as one more
 * failed test.
 */
const outcomeOf = (output: string, how: string, overdue: string | undefined): Omit<Outcome, 'file' | 'seconds'> => {
  const counts = countsIn(output);
  const reason = failureReason(counts, how, overdue);
  const { total = 0, passed = 0, skipped = 0 } = counts ?? {};
  return { passed, skipped, failed: total - passed + (reason ? 1 : 0), output, ...(reason && { reason }) };
};

const activeFiles = new Set<ChildProcess>();

const runFile = (file: string, env: NodeJS.ProcessEnv): Promise<Outcome> =>
  new Promise((resolve) => {
    const startedAt = Date.now();
    const limit = limitOf(file);
    const child = spawn(process.execPath, [file], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    activeFiles.add(child);
    let output = '';
    let overdue: string | undefined;
    let closing: NodeJS.Timeout | undefined;
    const isOver = deadline(limit * 1000);
    const limitCheck = setInterval(() => {
      if (overdue || !isOver()) return;
      overdue = `took longer than ${limit} s, or the equivalent on a busy machine`;
      end(child);
    }, LIMIT_CHECK_INTERVAL_MS);
    const onOutput = (part: string): void => {
      output += stripVTControlCharacters(part);
      if (closing || !countsIn(output)) return;
      closing = setTimeout(() => {
        overdue ??= `did not end within ${CLOSE_TIMEOUT_MS / 1000} s after its tests: it leaves something open`;
        end(child);
      }, CLOSE_TIMEOUT_MS * loadFactor());
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput);
    child.once('close', (code, signal) => {
      clearInterval(limitCheck);
      clearTimeout(closing);
      activeFiles.delete(child);
      resolve({
        file,
        seconds: (Date.now() - startedAt) / 1000,
        ...outcomeOf(output, signal ? `signal ${signal}` : `code ${code}`, overdue),
      });
    });
  });

const summary = ({ passed, failed, skipped }: Pick<Outcome, 'passed' | 'failed' | 'skipped'>): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

const report = (outcome: Outcome): void => {
  const { file, seconds, failed, reason, output } = outcome;
  console.log(`${failed > 0 ? 'FAIL' : 'pass'}  ${file}  ${summary(outcome)}  ${seconds.toFixed(1)} s`);
  if (reason) console.log(`      ${reason}`);
  if (failed > 0) console.log(output.trimEnd().replace(/^/gm, '    | '));
};

const runAll = async (files: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  const run = async (file: string): Promise<void> => {
    const outcome = await runFile(file, env);
    outcomes.push(outcome);
    report(outcome);
  };
  await runInOrder(files.map((file) => () => run(file)));
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
      for (const child of activeFiles) child.kill('SIGTERM');
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
