import { flushCompileCache } from 'node:module';
import type { Config } from '../config.ts';
import { ignoreBrokenPipe } from '../logging/nonblocking-stdout.ts';
import { finish } from '../processes/exit.ts';
import { collectWhenIdle } from '../threads/collect-when-idle.ts';

type Service = { close(): Promise<void> };

const FLUSH_DELAY_MS = 2_000;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const variableOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** @throws Error with a one-line message for the operator that names a malformed variable, or one of `required` that is not set */
export const readConfig = async (...required: (keyof Config)[]): Promise<Config> => {
  const { loadConfig } = await import('../config.ts');
  const config = loadConfig(process.env);
  const missing = required.find((field) => !config[field]);
  if (missing) throw new Error(`${variableOf(missing)} must be set for this command`);
  return config;
};

const stopRequested = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
    if (process.channel) process.once('disconnect', () => resolve());
  });

/** Exits with code 0 after the service is closed. */
export const runService = async (begin: () => Promise<Service>): Promise<void> => {
  ignoreBrokenPipe();
  const stop = stopRequested();
  const service = await Promise.race([begin(), stop]);
  // Node writes its compile cache some time after the start, or at exit: write it now, for a fast start even after a kill.
  setTimeout(flushCompileCache, FLUSH_DELAY_MS).unref();
  collectWhenIdle();
  await stop;
  await service?.close();
  await finish(0);
};

/** Exits with the command's exit code. */
export const runOnPlatform = async (work: (config: Config) => Promise<number>): Promise<void> => {
  const config = await readConfig();
  const { withRunningPlatform } = await import('./locate-services.ts');
  await finish(await withRunningPlatform(() => work(config)));
};
