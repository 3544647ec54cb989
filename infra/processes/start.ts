import { relative } from 'node:path';
import { COMPILE_CACHE } from '../compile-cache.ts';
import { loopback } from '../listen-url.ts';
import { printLine } from '../logging/print-line.ts';
import { printError } from './exit.ts';
import { type LaunchConfig, type Launched, launch } from './launch.ts';

/**
 * Two signals within this time (milliseconds) count as one. On Ctrl-C, a terminal signals both npm and this process,
 * and npm forwards its signal to this process.
 */
const ONE_KEY_PRESS_MS = 500;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The part of the configuration that the supervisor needs. The processes that it starts read the environment themselves. */
export type StartConfig = LaunchConfig & { readonly publicUrl: string };

const row = (name: string, value: string): string => `  ${name.padEnd(10)}${value}`;

/** Quotes a path for a POSIX shell, if it needs quotes. */
const shellQuoted = (path: string): string => (/^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/**
 * Returns the lines that a start prints: the URLs, directories and commands with which the operator reaches the
 * services. They contain no secret.
 */
const banner = ({ annalsData, publicUrl }: StartConfig, { ports }: Launched): string[] => {
  const path = relative(process.cwd(), annalsData);
  const data = path.startsWith('..') ? annalsData : path || '.';
  return [
    `Annals serves ${publicUrl}, documented at ${publicUrl}/docs`,
    row('console', `${publicUrl}/console; annals login prints a link that signs your browser in`),
    row('data', `${data}, logs in ${data}/logs`),
    row('store', ports.store ? `esdb://127.0.0.1:${ports.store}?tls=false, its secret is in ${data}/store/secret` : 'EVENTSTORE_URL'),
    row('postgres', ports.postgres ? `psql "$(cat ${shellQuoted(`${data}/postgres/url`)})"` : 'DATABASE_URL'),
    row(
      'nats',
      ports.nats ? `nats --server nats://127.0.0.1:${ports.nats} --creds ${shellQuoted(`${data}/nats/annals.creds`)}` : 'NATS_URL',
    ),
  ];
};

/**
 * Returns the lines that the operator can paste into another terminal. If this start has created the first API key, the
 * lines contain the key and a link to the console.
 */
const exportLines = ({ url, firstKey }: Launched): string[] => {
  const first = firstKey();
  if (!first) return [];
  return [
    `  next: the tour at ${loopback(url)}/guides/tour; for another terminal:`,
    `    export ANNALS_URL=${loopback(url)}`,
    `    export ANNALS_KEY=${first.key}`,
    // The link is shown only on a terminal. Other output is often kept in a log, where other people can read it.
    ...(process.stdout.isTTY ? ['  the console, signed in (one use, within 10 minutes):', `    ${first.link}`] : []),
  ];
};

/**
 * Runs the platform in the foreground until it gets a signal, and then stops all processes. A second signal kills them.
 * @returns the exit code
 */
export const start = (config: StartConfig): Promise<number> =>
  new Promise((resolve, reject) => {
    // The processes that the platform starts inherit this variable, and use the same compile cache.
    process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
    const running = launch(config, { report: printError, onFirstKey: ({ key }) => printLine(`  API key (shown once): ${key}`) });
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
        if (stoppedAt === undefined) {
          printLine('stopping all processes; a second Ctrl-C kills them');
          return void stop(() => resolve(0));
        }
        if (Date.now() - stoppedAt > ONE_KEY_PRESS_MS) force();
      });
    process.on('uncaughtException', fail);
    running.ready.then(
      (launched) => [...banner(config, launched), ...exportLines(launched), `ready ${launched.url}`].forEach(printLine),
      (error: unknown) => stoppedAt === undefined && fail(error),
    );
  });
