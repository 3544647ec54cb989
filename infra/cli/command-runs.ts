import { flushCompileCache } from 'node:module';
import type { Config } from '../config.ts';
import { ignoreBrokenPipe } from '../logging/nonblocking-stdout.ts';
import { finish } from '../processes/exit.ts';

type Service = { close(): Promise<void> };

const FLUSH_DELAY_MS = 2_000;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const variableOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/**
 * Reads the configuration.
 * @throws Error with a one-line message for the operator that names a malformed variable, or a variable of `required`
 * that is not set
 */
export const readConfig = async (...required: (keyof Config)[]): Promise<Config> => {
  const { loadConfig } = await import('../config.ts');
  const config = loadConfig(process.env);
  const missing = required.find((field) => !config[field]);
  if (missing) throw new Error(`${variableOf(missing)} must be set for this command`);
  return config;
};

/** Resolves when the process gets a signal to stop, or when its supervisor ends. */
const stopRequested = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
    if (process.channel) process.once('disconnect', () => resolve());
  });

/** Runs a service until the process is asked to stop. Then closes the service and exits with code 0. */
export const runService = async (begin: () => Promise<Service>): Promise<void> => {
  ignoreBrokenPipe();
  const stop = stopRequested();
  const service = await Promise.race([begin(), stop]);
  // Node's compile cache is written some time after the start, and not only at exit. So the next start is fast even if
  // this process is killed.
  setTimeout(flushCompileCache, FLUSH_DELAY_MS).unref();
  await stop;
  await service?.close();
  await finish(0);
};

/** Runs an operator's command that needs a running platform, and exits with the command's exit code. */
export const runOnPlatform = async (work: (config: Config) => Promise<number>): Promise<void> => {
  const config = await readConfig();
  const { withRunningPlatform } = await import('./locate-services.ts');
  await finish(await withRunningPlatform(() => work(config)));
};
