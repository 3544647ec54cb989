import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { endProcess, type ProcessRef } from '../../infra/supervision/os-process.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, root, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';

export const PIECES = ['serve', 'work', 'store', 'postgres', 'nats'] as const;
export type PieceName = (typeof PIECES)[number];

export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

export const main = join(root, 'infra', 'main.ts');
/** A key that only tests have. */
export const ADMIN_KEY = buildKey('Fau1tK3y', 'onlyTestsHaveThisKeyForThePlatfo');

const STOP_MS = 30_000;
const TIMEOUT_MS = 200;

/** How other processes reach the services of a data directory: as `annals start` writes it down there. */
const urlsIn = (data: string) => {
  const text = (...path: string[]): string => readFileSync(join(data, ...path), 'utf8').trim();
  const { ports } = JSON.parse(text('state.json')) as { ports: Record<'store' | 'nats', number> };
  const { account } = JSON.parse(text('nats', 'keys.json')) as { account: string };
  return {
    EVENTSTORE_URL: `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(text('store', 'secret'))}`,
    DATABASE_URL: text('postgres', 'url'),
    NATS_URL: `nats://127.0.0.1:${ports.nats}`,
    NATS_ACCOUNT_SEED: account,
  };
};

/** Asks a service once. @throws what fetch throws */
const ask = async (base: string, method: string, path: string, key: string, body?: unknown, headers = {}): Promise<Reply> => {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** The real platform, as `annals start` runs it, over a data directory of its own. */
export const openPlatform = async (dir: string) => {
  const data = join(dir, 'data');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data, PORT: String(port), ANNALS_ADMIN_KEY: ADMIN_KEY, NO_COLOR: '1' };
  const company: Program[] = [];
  let running: Program | undefined;

  const known = (name: PieceName): ProcessRef | undefined => readPidFile(join(data, 'run', `${name}.pid`));
  const everyone = (): ProcessRef[] => [...PIECES.map(known), readPidFile(join(data, 'annals.pid'))].filter((each) => each !== undefined);

  const start = async (): Promise<void> => {
    running = startProgram(process.execPath, [main, 'start'], { env });
    await running.waitForOutput(/^ready http/m);
  };

  const stop = async (): Promise<number | NodeJS.Signals | undefined> => {
    const late = setTimeout(() => running?.child.kill('SIGKILL'), STOP_MS);
    const code = await running?.stop();
    clearTimeout(late);
    running = undefined;
    return code;
  };

  /** Ends what is still there by the process ids that the platform wrote down, and returns which those were. */
  const sweep = async (): Promise<number[]> => {
    const left = everyone();
    for (const each of left) await endProcess(each, 'SIGTERM', 5_000);
    return left.map(({ pid }) => pid);
  };

  /** Kills a piece at once; resolves with the ms until its successor is there. */
  const kill = async (name: PieceName): Promise<number> => {
    let victim = known(name);
    for (let tries = 0; !victim && tries < TIMEOUT_MS; tries++) {
      await sleep(50);
      victim = known(name);
    }
    if (!victim) throw new Error(`there is no ${name} to kill`);
    process.kill(victim.pid, 'SIGKILL');
    const killedAt = Date.now();
    for (let tries = 0; tries < TIMEOUT_MS; tries++) {
      await sleep(25);
      const next = known(name);
      if (next && next.pid !== victim.pid) return Date.now() - killedAt;
    }
    throw new Error(`nothing took the place of ${name}, process ${victim.pid}`);
  };

  /** One more API process on the same services. Resolves with its address when it is ready. */
  const serveToo = async (): Promise<string> => {
    const PORT = String(await freePort());
    const one = startProgram(process.execPath, [main, 'serve'], { env: { ...env, ...urlsIn(data), PORT } });
    company.push(one);
    await one.waitForOutput(/"listening"/);
    return `http://127.0.0.1:${PORT}`;
  };

  /** Asks until the answer is neither a lost connection nor 503: for setting up and for looking, not for deliveries. */
  const call = async (method: string, path: string, body?: unknown, { key = ADMIN_KEY, headers = {} } = {}): Promise<Reply> => {
    for (let tries = 1; ; tries++) {
      const reply = await ask(url, method, path, key, body, headers).catch((error: Error) => error);
      if (!(reply instanceof Error) && reply.status !== 503) return reply;
      if (tries === TIMEOUT_MS) throw new Error(`${method} ${path}: ${reply instanceof Error ? reply.message : reply.text}`);
      await sleep(200);
    }
  };

  return {
    dir,
    data,
    url,
    start,
    stop,
    sweep,
    kill,
    serveToo,
    call,
    /** What is to end with the platform. */
    accompany: (one: Program): void => void company.push(one),
    said: (): string => running?.output() ?? '',
    urls: () => urlsIn(data),
    openLog: (): Log => openLog(urlsIn(data).EVENTSTORE_URL),
    connectNats: (): Promise<NatsConnection> => {
      const { NATS_URL, NATS_ACCOUNT_SEED } = urlsIn(data);
      return connectNats({ natsUrl: NATS_URL, natsAccountSeed: NATS_ACCOUNT_SEED });
    },
    close: async (): Promise<void> => {
      await Promise.all([stop(), ...company.map((each) => each.stop())]);
      await sweep();
    },
  };
};

export type Platform = Awaited<ReturnType<typeof openPlatform>>;

/** What was asked of it. @throws where the answer is another than was expected */
export const must = async <T>(reply: Promise<Reply>, status = 201): Promise<T> => {
  const { status: got, text } = await reply;
  if (got !== status) throw new Error(`${got} instead of ${status}: ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
};

/** Starts a platform for one test, and takes it away afterwards, whatever happens: also when this process is told to end. */
export const withPlatform = (use: (platform: Platform) => Promise<void>): Promise<void> =>
  withTempDirectory(async (dir) => {
    const platform = await openPlatform(dir);
    const leave = (): void => void platform.close().finally(() => process.exit(1));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, leave);
    try {
      await platform.start();
      await use(platform);
    } finally {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, leave);
      await platform.close();
    }
  });
