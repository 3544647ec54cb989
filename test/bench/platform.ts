import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, startProgram } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PROCESSES = ['serve', 'work', 'store', 'postgres', 'nats'] as const;

export type ProcessName = (typeof PROCESSES)[number];

/** A running platform and its connection data. `dir` is its data directory. */
export type RunningPlatform = {
  readonly port: number;
  /** The API key of the platform's first administrator. */
  readonly key: string;
  readonly dir: string;
  readonly pids: () => Partial<Record<ProcessName, number>>;
  readonly databaseUrl: () => string;
  readonly natsUrl: () => string;
  readonly natsCredentials: () => Uint8Array;
  readonly stop: () => Promise<void>;
};

const randomText = (count: number): string => Array.from({ length: count }, () => BASE62[randomInt(BASE62.length)]).join('');

const newKey = (): string => buildKey(randomText(8), randomText(32));

const programs = new Set<Program>();

/** Starts a program with Node. `stopPrograms` stops it if it is still running then. */
export const startTracked = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Program => {
  const running = startProgram(process.execPath, args, { env: { ...process.env, ...env } });
  programs.add(running);
  void running.ended.then(() => programs.delete(running));
  return running;
};

export const stopPrograms = async (): Promise<void> => void (await Promise.all([...programs].map((each) => each.stop())));

const main = join(import.meta.dirname, '../../infra/main.ts');

/** Starts a command of the platform's CLI. */
export const startCommand = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Program => startTracked([main, ...args], env);

const portsIn = (dir: string): Partial<Record<ProcessName, number>> =>
  (JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8')) as { ports: Partial<Record<ProcessName, number>> }).ports;

export type StartOptions = { dir?: string; port?: number; key?: string; env?: NodeJS.ProcessEnv };

/** Starts the platform. If `dir` is not given, uses a temporary directory and deletes it when the platform stops. */
export const startPlatform = async ({
  dir: existingDir,
  port: wantedPort,
  key = newKey(),
  env = {},
}: StartOptions = {}): Promise<RunningPlatform> => {
  const { dir, clear } = existingDir === undefined ? createTempDirectory() : { dir: existingDir, clear: () => {} };
  const port = wantedPort ?? (await freePort());
  const running = startCommand(['start'], { LOG_LEVEL: 'warn', ...env, ANNALS_DATA: dir, ANNALS_ADMIN_KEY: key, PORT: String(port) });
  const stop = async (): Promise<void> => {
    await running.stop();
    clear();
  };
  await running.waitForOutput(/^ready http/m).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    port,
    key,
    dir,
    pids: () => Object.fromEntries(PROCESSES.map((name) => [name, readPidFile(join(dir, 'run', `${name}.pid`))?.pid])),
    databaseUrl: () => readFileSync(join(dir, 'postgres', 'url'), 'utf8').trim(),
    natsUrl: () => `127.0.0.1:${portsIn(dir).nats}`,
    natsCredentials: () => readFileSync(join(dir, 'nats', 'annals.creds')),
    stop,
  };
};
