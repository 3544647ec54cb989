import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryPoint } from '../program.ts';
import type { ManagedProcess } from './managed-process.ts';
import { waitUntilReady } from './readiness-probe.ts';

const annalsCommand = (name: string, args: readonly string[], env: NodeJS.ProcessEnv): Omit<ManagedProcess, 'graceMs'> => ({
  name,
  command: process.execPath,
  args: [entryPoint('infra/main.ts'), ...args],
  cwd: process.cwd(),
  env,
  stopSignal: 'SIGTERM',
  // A process with `onMessage` gets an IPC channel. When the supervisor ends, the channel closes, and the process
  // stops.
  onMessage: () => {},
});

export type StoreProcess = ManagedProcess & {
  readonly url: () => string;
  /** Whether `url` can be read: it contains the secret, which the store writes to a file at its first start. */
  readonly isUrlKnown: () => boolean;
};

/** Describes the process of the embedded event store. At its first start, the store creates the secret that is part of `url`. */
export const storeProcess = ({ dir, port }: { dir: string; port: number }): StoreProcess => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const secretFile = join(dir, 'secret');
  return {
    ...annalsCommand('store', ['store', 'serve', '--dir', dir, '--port', String(port)], process.env),
    graceMs: 10_000,
    readyPattern: /^store ready /m,
    isUrlKnown: () => existsSync(secretFile),
    url: () => `esdb://127.0.0.1:${port}?tls=false&connectionName=${encodeURIComponent(readFileSync(secretFile, 'utf8').trim())}`,
  };
};

export type ServeOptions = {
  env: NodeJS.ProcessEnv;
  /** The URL at which this machine reaches the service. */
  base: string;
  report: (line: string) => void;
  onMessage: (message: unknown) => void;
};

/** Describes the process of the HTTP service. It counts as up when the service accepts deliveries. */
export const serveProcess = ({ env, base, report, onMessage }: ServeOptions): ManagedProcess => ({
  ...annalsCommand('serve', ['serve'], env),
  graceMs: 15_000,
  onMessage,
  prepare: (ended) => waitUntilReady(base, report, ended),
});

/** Describes the process that runs the projections and the reactors. */
export const workProcess = (env: NodeJS.ProcessEnv, onMessage: (message: unknown) => void): ManagedProcess => ({
  ...annalsCommand('work', ['work'], env),
  onMessage,
  graceMs: 15_000,
  isLowPriority: true,
});
