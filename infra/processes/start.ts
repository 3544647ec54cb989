import { relative } from 'node:path';
import { COMPILE_CACHE } from './compile-cache.ts';
import { type LaunchConfig, type Launched, launch } from './launch.ts';

/** npm passes on a Ctrl-C that the terminal has sent to us as well: two signals this close are one. */
const ONE_PRESS_MS = 500;
/** The part of the configuration that the supervisor needs; the processes that it starts read the environment themselves. */
export type StartConfig = LaunchConfig & { readonly publicUrl: string };

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const row = (name: string, value: string): string => `  ${name.padEnd(10)}${value}`;

/** A path as a shell takes it for one word. */
const quoted = (path: string): string => (/^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** Where everything is, and how to look inside without a secret on the screen. */
const banner = ({ annalsData, publicUrl }: StartConfig, { ports }: Launched): string[] => {
  const here = relative(process.cwd(), annalsData);
  const data = here.startsWith('..') ? annalsData : here || '.';
  return [
    `Annals serves ${publicUrl}, documented at ${publicUrl}/docs`,
    row('data', `${data}, logs in ${data}/logs`),
    row('store', ports.store ? `esdb://127.0.0.1:${ports.store}?tls=false, its secret is in ${data}/store/secret` : 'EVENTSTORE_URL'),
    row('postgres', ports.postgres ? `psql "$(cat ${quoted(`${data}/postgres/url`)})"` : 'DATABASE_URL'),
    row('nats', ports.nats ? `nats --server nats://127.0.0.1:${ports.nats} --creds ${quoted(`${data}/nats/annals.creds`)}` : 'NATS_URL'),
  ];
};

/** Runs everything in the foreground until a signal comes. Resolves to the exit code. */
export const start = (config: StartConfig): Promise<number> =>
  new Promise((resolve, reject) => {
    // The processes that it starts load their code from the cache, too.
    process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
    const say = (line: string): void => void process.stderr.write(`annals: ${line}\n`);
    // At once, not with the rest: the log has it from now on, and whoever ends the start before that would never see it.
    const running = launch(config, { report: say, onFirstKey: ({ key }) => print(`  API key (shown once): ${key}`) });
    let stoppedAt: number | undefined;
    const stop = async (then: () => void): Promise<void> => {
      stoppedAt ??= Date.now();
      await running.close().finally(then);
    };
    const fail = (error: unknown): void => void stop(() => reject(error));
    const force = (): void => {
      running.kill();
      resolve(1);
    };
    for (const signal of SIGNALS)
      process.on(signal, () => {
        if (stoppedAt === undefined) return void stop(() => resolve(0));
        if (Date.now() - stoppedAt > ONE_PRESS_MS) force();
      });
    process.on('uncaughtException', fail);
    running.ready.then(
      (launched) => [...banner(config, launched), `ready ${launched.url}`].forEach(print),
      (error: unknown) => stoppedAt === undefined && fail(error),
    );
  });
