import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, startProgram } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PIECES = ['serve', 'work', 'store', 'postgres', 'nats'] as const;

export type PieceName = (typeof PIECES)[number];

/** The whole platform, running on a directory of its own. */
export type Annals = {
  readonly port: number;
  /** A key of the platform's first administrator. */
  readonly key: string;
  readonly dir: string;
  readonly pids: () => Partial<Record<PieceName, number>>;
  readonly databaseUrl: () => string;
  readonly natsUrl: () => string;
  readonly natsCredentials: () => Uint8Array;
  readonly stop: () => Promise<void>;
};

const letters = (count: number): string => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('');

export const newKey = (): string => buildKey(letters(8), letters(32));

const programs = new Set<Program>();

/** Runs a program that `stopPrograms` ends, whatever happens to whoever asked for it. */
export const tracked = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Program => {
  const running = startProgram(process.execPath, args, { env: { ...process.env, ...env } });
  programs.add(running);
  void running.ended.then(() => programs.delete(running));
  return running;
};

export const stopPrograms = async (): Promise<void> => void (await Promise.all([...programs].map((each) => each.stop())));

const main = join(import.meta.dirname, '../../infra/main.ts');

/** Runs a command of the platform itself. */
export const annals = (words: readonly string[], env: NodeJS.ProcessEnv = {}): Program => tracked([main, ...words], env);

const portsIn = (dir: string): Partial<Record<PieceName, number>> =>
  (JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8')) as { ports: Partial<Record<PieceName, number>> }).ports;

export type StartOptions = { dir?: string; port?: number; key?: string; env?: NodeJS.ProcessEnv };

/** Starts everything; what it keeps is taken away when it stops, unless `dir` says where to leave it. */
export const startAnnals = async ({ dir: given, port: wanted, key = newKey(), env = {} }: StartOptions = {}): Promise<Annals> => {
  const { dir, clear } = given === undefined ? createTempDirectory() : { dir: given, clear: () => {} };
  const port = wanted ?? (await freePort());
  const running = annals(['start'], { LOG_LEVEL: 'warn', ...env, ANNALS_DATA: dir, ANNALS_ADMIN_KEY: key, PORT: String(port) });
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
    pids: () => Object.fromEntries(PIECES.map((name) => [name, readPidFile(join(dir, 'run', `${name}.pid`))?.pid])),
    databaseUrl: () => readFileSync(join(dir, 'postgres', 'url'), 'utf8').trim(),
    natsUrl: () => `127.0.0.1:${portsIn(dir).nats}`,
    natsCredentials: () => readFileSync(join(dir, 'nats', 'annals.creds')),
    stop,
  };
};
