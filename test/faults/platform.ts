import { join } from 'node:path';
import { test } from 'uvu';
import { freePort } from '../../infra/supervision/ports.ts';
import { mainFile, type Program, startProgram, withTempDirectory } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { platformProcesses } from './platform-processes.ts';
import { connectPlatform, platformEnvironment } from './running-platform.ts';

const STOP_TIMEOUT_MS = 30_000;

/**
 * Prepares a real platform, as `annals start` runs it, with its own data directory. `variables` are added to its
 * environment.
 */
export const openPlatform = async (dir: string, variables: NodeJS.ProcessEnv = {}) => {
  const place = { dir, data: join(dir, 'data'), url: `http://127.0.0.1:${await freePort()}` };
  const env = platformEnvironment(place, variables);
  const connected = connectPlatform(place, variables);
  const { kill, endRemainingProcesses } = platformProcesses(place.data);
  let running: Program | undefined;

  const start = async (): Promise<void> => {
    running = startProgram(process.execPath, [mainFile, 'start'], { env });
    await running.waitForOutput(/^ready http/m);
  };

  const stop = async (): Promise<number | NodeJS.Signals | undefined> => {
    const killTimer = setTimeout(() => running?.child.kill('SIGKILL'), STOP_TIMEOUT_MS * loadFactor());
    const code = await running?.stop();
    clearTimeout(killTimer);
    return code;
  };

  return {
    ...connected,
    start,
    stop,
    endRemainingProcesses,
    kill,
    /** Returns what the platform has printed since its last start, also after its end. */
    output: (): string => running?.output() ?? '',
    close: async (): Promise<void> => {
      await Promise.all([stop(), connected.closeOthers()]);
      await endRemainingProcesses();
    },
  };
};

export type Platform = Awaited<ReturnType<typeof openPlatform>>;

type UsePlatform = (platform: Platform) => Promise<void>;

/**
 * Runs a test with a platform in this directory. Stops the platform in any case, even if this process gets SIGTERM or
 * SIGINT.
 */
export const openAndUse = async (dir: string, use: UsePlatform, variables: NodeJS.ProcessEnv): Promise<void> => {
  const platform = await openPlatform(dir, variables);
  const closeAndExit = (): void => void platform.close().finally(() => process.exit(1));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, closeAndExit);
  try {
    await platform.start();
    await use(platform);
  } finally {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, closeAndExit);
    await platform.close();
  }
};

/** Runs a test with a platform in its own directory, as `openAndUse` does. */
export const withPlatform = (use: UsePlatform, variables: NodeJS.ProcessEnv = {}): Promise<void> =>
  withTempDirectory((dir) => openAndUse(dir, use, variables));

/** Calls a test with what the test uses. */
export type Use<T> = (use: (used: T) => Promise<void>) => Promise<void>;

/**
 * Returns a function like `open` with which all tests of a file share what `open` opens. It is opened for the first test
 * that uses it and closed after the last test of the file. Each test must leave it usable.
 */
export const sharedByTests = <T>(open: Use<T>): Use<T> => {
  const opened = Promise.withResolvers<T>();
  const finished = Promise.withResolvers<void>();
  let running: Promise<void> | undefined;
  const run = (used: T): Promise<void> => {
    opened.resolve(used);
    return finished.promise;
  };
  test.after(async () => {
    finished.resolve();
    await running?.catch(() => {});
  });
  return async (use) => {
    if (!running) {
      running = open(run);
      running.catch(opened.reject);
    }
    await use(await opened.promise);
  };
};

/** Returns a function like `withPlatform` with which all tests of a file share one platform. */
export const sharedPlatform = (variables: NodeJS.ProcessEnv = {}): Use<Platform> => sharedByTests((use) => withPlatform(use, variables));
