import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, listenUrl, loopback } from '../config.ts';
import { readJson } from '../durable-files.ts';
import { nats } from '../nats/embedded-nats.ts';
import { postgres } from '../postgres/embedded-postgres.ts';
import { lockFile } from '../process-lock.ts';
import { serveProcess, storeProcess, workProcess } from '../supervision/child-processes.ts';
import { killHelpers } from '../supervision/helper-programs.ts';
import { type ManagedProcess, type ProcessDirs, replaceProcess } from '../supervision/managed-process.ts';
import { readPidFile, removePidFile, writePidFile } from '../supervision/pid-file.ts';
import { freePort, isPortFree } from '../supervision/ports.ts';
import { type Supervised, supervise } from '../supervision/supervisor.ts';

type Name = 'store' | 'postgres' | 'nats';

/** What `serve` tells its parent when the log was empty: the key is nowhere else. */
export type FirstKey = { kind: 'first-key'; key: string; tenant_id: string };

/** Everything on one machine, running. */
export type Launched = {
  /** Where the service listens. */
  readonly url: string;
  /** The variables that reach the services by: for other commands, and never to be printed. */
  readonly env: {
    readonly EVENTSTORE_URL: string;
    readonly DATABASE_URL: string;
    readonly NATS_URL: string;
    readonly NATS_ACCOUNT_SEED?: string;
  };
  /** Ports of the services that were started here; others are configured. */
  readonly ports: Readonly<Partial<Record<Name, number>>>;
  readonly firstKey: () => FirstKey | undefined;
  /** Process id by name; undefined while it is down. */
  readonly pid: (name: string) => number | undefined;
};

export type Launch = {
  readonly ready: Promise<Launched>;
  /** Stops all in order: serve, work, NATS, PostgreSQL, store. */
  readonly close: () => Promise<void>;
  /** Ends all at once. */
  readonly kill: () => void;
};

const OPEN_TO_PASS = 0o711;
const PREPARING_MS = 1_000;

/** SQLite, by which directories are held, knows no path of more than 512 bytes. */
const MAX_DATA_PATH_BYTES = 400;

/** Others may pass through a data directory of root's, so that PostgreSQL, which never is root, can reach its own part of it. */
const makeData = (dir: string): void => {
  if (Buffer.byteLength(dir) > MAX_DATA_PATH_BYTES) throw new Error(`ANNALS_DATA must be a path of at most ${MAX_DATA_PATH_BYTES} bytes`);
  try {
    mkdirSync(dir, { recursive: true, mode: process.getuid?.() === 0 ? OPEN_TO_PASS : 0o700 });
    accessSync(dir, constants.W_OK);
  } catch (error) {
    throw new Error(`ANNALS_DATA ${dir} cannot be written to: ${(error as NodeJS.ErrnoException).code}`);
  }
};

/** Those of last time; where there are none others serve as well. */
const portsIn = (file: string): Partial<Record<Name, number>> => readJson<{ ports: Partial<Record<Name, number>> }>(file)?.ports ?? {};

/** The port of last time, unless somebody has taken it since. */
const portFor = async (last: number | undefined): Promise<number> => (last !== undefined && (await isPortFree(last)) ? last : freePort());

const takenPort = (port: number, host: string, error?: NodeJS.ErrnoException): Error =>
  new Error(
    error
      ? `HOST ${host} and PORT ${port} cannot be listened on: ${error.code}`
      : `PORT ${port} on ${host} is taken; set PORT to another one`,
  );

const requirePort = async ({ port, host }: Config): Promise<void> => {
  const free = await isPortFree(port, host).catch((error: NodeJS.ErrnoException) => {
    throw takenPort(port, host, error);
  });
  if (!free) throw takenPort(port, host);
};

const holdData = (dir: string): { release(): void } => {
  makeData(dir);
  const pids = join(dir, 'annals.pid');
  const held = lockFile(join(dir, 'lock'));
  if (!held) throw new Error(`annals already runs on ${dir}${readPidFile(pids) ? ` (process ${readPidFile(pids)?.pid})` : ''}`);
  writePidFile(pids, process.pid);
  return {
    release: () => {
      removePidFile(pids);
      held.release();
    },
  };
};

/** Starts whatever has no URL of its own, then the service. Says what goes wrong later by `say`, and gives out the first key as soon as it is made. */
export const launch = (config: Config, say: (line: string) => void, made: (first: FirstKey) => void = () => {}): Launch => {
  const data = config.annalsData;
  const ground: ProcessDirs = { logs: join(data, 'logs'), run: join(data, 'run'), report: say };
  const running: Partial<Record<string, Supervised>> = {};
  const closing = new AbortController();
  const preparing: Promise<unknown>[] = [];
  let held: { release(): void } | undefined;
  let firstKey: FirstKey | undefined;

  const run = async (piece: ManagedProcess): Promise<Supervised> => {
    await replaceProcess(piece, ground);
    closing.signal.throwIfAborted();
    const supervised = supervise(piece, ground);
    running[piece.name] = supervised;
    return supervised;
  };

  const hears = (message: unknown): void => {
    if ((message as FirstKey | null)?.kind !== 'first-key') return;
    firstKey = message as FirstKey;
    made(firstKey);
  };

  /** Begins each service that has no URL; who needs one may begin too, as its address is known before it answers. */
  const services = async (ports: Partial<Record<Name, number>>): Promise<{ urls: Launched['env']; ready: Promise<unknown> }> => {
    const begun = async <P extends ManagedProcess>(name: Name, prepare: (port: number) => P | Promise<P>) => {
      ports[name] = await portFor(ports[name]);
      const piece = await prepare(ports[name]);
      return { piece, ready: (await run(piece)).ready };
    };
    const start = <P extends ManagedProcess>(name: Name, url: string | undefined, prepare: (port: number) => P | Promise<P>) => {
      if (url) return undefined;
      const beginning = begun(name, prepare);
      preparing.push(beginning);
      return beginning;
    };
    const begunAll = await Promise.all([
      start('store', config.eventstoreUrl, (port) => storeProcess({ dir: join(data, 'store'), port })),
      start('postgres', config.databaseUrl, (port) => postgres({ dir: join(data, 'postgres'), port })),
      start('nats', config.natsUrl, (port) => nats({ dir: join(data, 'nats'), port })),
    ]);
    const [eventstore, database, delivery] = begunAll;
    if (eventstore && !eventstore.piece.isUrlKnown()) await eventstore.ready;
    const seed = delivery?.piece.accountSeed ?? config.natsAccountSeed;
    const urls = {
      EVENTSTORE_URL: config.eventstoreUrl ?? eventstore!.piece.url(),
      DATABASE_URL: config.databaseUrl ?? database!.piece.url,
      NATS_URL: config.natsUrl ?? delivery!.piece.url,
      ...(seed && { NATS_ACCOUNT_SEED: seed }),
    };
    return { urls, ready: Promise.all(begunAll.map((each) => each?.ready)) };
  };

  const begin = async (): Promise<Launched> => {
    held = holdData(data);
    const state = join(data, 'state.json');
    const env = { ...process.env, ANNALS_DATA: data, PORT: String(config.port), HOST: config.host };
    const url = listenUrl(config);
    const leftovers = [serveProcess({ env, base: url, report: say, onMessage: hears }), workProcess(env)];
    await Promise.all(leftovers.map((piece) => replaceProcess(piece, ground)));
    await requirePort(config);
    const ports = portsIn(state);
    const { urls, ready } = await services(ports);
    writeFileSync(state, JSON.stringify({ ports }), { mode: 0o600 });
    const parts = await Promise.all([
      run(serveProcess({ env: { ...env, ...urls }, base: loopback(url), report: say, onMessage: hears })),
      run(workProcess({ ...env, ...urls })),
    ]);
    await Promise.all([ready, ...parts.map((each) => each.ready)]);
    return { url, env: urls, ports, firstKey: () => firstKey, pid: (name) => running[name]?.pid() };
  };

  const stop = (name: string): Promise<void> | undefined => running[name]?.stop();
  const close = async (): Promise<void> => {
    closing.abort(new Error('told to stop'));
    killHelpers();
    await Promise.all([stop('serve'), stop('work')]);
    await stop('nats');
    await stop('postgres');
    await stop('store');
    await Promise.race([Promise.allSettled(preparing), sleep(PREPARING_MS)]);
    held?.release();
  };

  const kill = (): void => {
    for (const each of Object.values(running)) each?.kill('SIGKILL');
  };

  return { ready: begin(), close, kill };
};
