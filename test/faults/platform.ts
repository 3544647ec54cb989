import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { test } from 'uvu';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { endProcess, type ProcessRef } from '../../infra/supervision/os-process.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import { type Program, root, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { deadline, loadFactor } from '../fixtures/load-factor.ts';

export const PROCESS_NAMES = ['serve', 'work', 'store', 'postgres', 'nats'] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];

export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

export const mainFile = join(root, 'infra', 'main.ts');
/** The API key of the platform's first administrator. It is used only in tests. */
export const ADMIN_KEY = buildKey('Fau1tK3y', 'onlyTestsHaveThisKeyForThePlatfo');

const STOP_TIMEOUT_MS = 30_000;
/**
 * The maximum time for finding the process to kill, and also for the start of its successor. Both times are longer on a
 * busy machine.
 */
const KILL_TIMEOUT_MS = 10_000;
const MAX_TRIES = 200;

/**
 * Returns the environment variables with which another process reaches the services of an `annals start` on this data
 * directory.
 */
const serviceVariables = (data: string) => {
  const text = (...path: string[]): string => readFileSync(join(data, ...path), 'utf8').trim();
  const { ports } = JSON.parse(text('state.json')) as { ports: Record<'store' | 'nats', number> };
  const { account, runners } = JSON.parse(text('nats', 'keys.json')) as { account: string; runners: string };
  return {
    EVENTSTORE_URL: `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(text('store', 'secret'))}`,
    DATABASE_URL: text('postgres', 'url'),
    NATS_URL: `nats://127.0.0.1:${ports.nats}`,
    NATS_ACCOUNT_SEED: account,
    NATS_RUNNER_ACCOUNT_SEED: runners,
  };
};

/** Sends one request with an API key. @throws the error of fetch */
const sendRequest = async (base: string, method: string, path: string, key: string, body?: unknown, headers = {}): Promise<Reply> => {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(Math.round(15_000 * loadFactor())),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/**
 * Prepares a real platform, as `annals start` runs it, with its own data directory. `variables` are added to its
 * environment.
 */
export const openPlatform = async (dir: string, variables: NodeJS.ProcessEnv = {}) => {
  const data = join(dir, 'data');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...unconfiguredEnvironment(),
    ANNALS_DATA: data,
    PORT: String(port),
    ANNALS_ADMIN_KEY: ADMIN_KEY,
    NO_COLOR: '1',
    ...variables,
  };
  const otherPrograms: { readonly stop: () => Promise<unknown> }[] = [];
  let running: Program | undefined;

  const processOf = (name: ProcessName): ProcessRef | undefined => readPidFile(join(data, 'run', `${name}.pid`));
  const remainingProcesses = (): ProcessRef[] =>
    [...PROCESS_NAMES.map(processOf), readPidFile(join(data, 'annals.pid'))].filter((each) => each !== undefined);

  const start = async (): Promise<void> => {
    running = startProgram(process.execPath, [mainFile, 'start'], { env });
    await running.waitForOutput(/^ready http/m);
  };

  const stop = async (): Promise<number | NodeJS.Signals | undefined> => {
    const killTimer = setTimeout(() => running?.child.kill('SIGKILL'), STOP_TIMEOUT_MS * loadFactor());
    const code = await running?.stop();
    clearTimeout(killTimer);
    running = undefined;
    return code;
  };

  /** Ends all processes that are named in pid files and still running. @returns their process ids */
  const endRemainingProcesses = async (): Promise<number[]> => {
    const remaining = remainingProcesses();
    for (const each of remaining) await endProcess(each, 'SIGTERM', 5_000);
    return remaining.map(({ pid }) => pid);
  };

  /** Kills a process with SIGKILL. @returns the milliseconds until its successor has started */
  const kill = async (name: ProcessName): Promise<number> => {
    let killed = processOf(name);
    for (const isOver = deadline(KILL_TIMEOUT_MS); !killed && !isOver(); killed = processOf(name)) await sleep(50);
    if (!killed) throw new Error(`the process ${name} does not run, so it cannot be killed`);
    process.kill(killed.pid, 'SIGKILL');
    const killedAt = Date.now();
    for (const isOver = deadline(KILL_TIMEOUT_MS); !isOver(); ) {
      await sleep(25);
      const next = processOf(name);
      if (next && next.pid !== killed.pid) return Date.now() - killedAt;
    }
    throw new Error(`no process has replaced ${name}, process ${killed.pid}`);
  };

  /** Starts another `work` process that uses the same services. Resolves when its output matches `ready`. */
  const startWorkProcess = async (ready: RegExp, more: NodeJS.ProcessEnv = {}): Promise<Program> => {
    const program = startProgram(process.execPath, [mainFile, 'work'], { env: { ...env, ...serviceVariables(data), ...more } });
    otherPrograms.push(program);
    await program.waitForOutput(ready);
    return program;
  };

  /**
   * Starts another API process that uses the same services. `more` has additional environment variables. @returns its
   * base URL, when it listens
   */
  const startServeProcess = async (more: NodeJS.ProcessEnv = {}): Promise<string> => {
    const PORT = String(await freePort());
    const program = startProgram(process.execPath, [mainFile, 'serve'], { env: { ...env, ...serviceVariables(data), PORT, ...more } });
    otherPrograms.push(program);
    await program.waitForOutput(/"listening"/);
    return `http://127.0.0.1:${PORT}`;
  };

  /**
   * Sends a request. Repeats it while the connection fails or the response is 503. Do not send deliveries with this
   * function: `load.ts` repeats them itself and records each answer.
   */
  const call = async (method: string, path: string, body?: unknown, { key = ADMIN_KEY, headers = {} } = {}): Promise<Reply> => {
    for (let tries = 1; ; tries++) {
      const reply = await sendRequest(url, method, path, key, body, headers).catch((error: Error) => error);
      if (!(reply instanceof Error) && reply.status !== 503) return reply;
      if (tries === MAX_TRIES) throw new Error(`${method} ${path}: ${reply instanceof Error ? reply.message : reply.text}`);
      await sleep(200);
    }
  };

  /**
   * Returns the tenant that the platform creates when it starts for the first time. Waits until the read models show
   * it.
   */
  const firstTenant = async (): Promise<{ readonly id: string }> => {
    for (let tries = 1; ; tries++) {
      const [tenant] = JSON.parse((await call('GET', '/admin/tenants')).text) as { id: string }[];
      if (tenant) return tenant;
      if (tries === MAX_TRIES) throw new Error('the read models do not show the first tenant');
      await sleep(200);
    }
  };

  return {
    dir,
    data,
    url,
    firstTenant,
    start,
    stop,
    endRemainingProcesses,
    kill,
    startServeProcess,
    startWorkProcess,
    call,
    /** Registers a program or a runner that `close` has to stop, too. */
    stopOnClose: (program: { readonly stop: () => Promise<unknown> }): void => void otherPrograms.push(program),
    output: (): string => running?.output() ?? '',
    serviceVariables: () => serviceVariables(data),
    openLog: (): Log => openLog(serviceVariables(data).EVENTSTORE_URL),
    /** Returns a function that decrypts the sealed events of the platform's log. */
    eventOpener: (log: Log) => {
      const { openEvent, close } = openEventOpener({ log, masterKeyFile: join(data, 'master.key') });
      otherPrograms.push({ stop: close });
      return openEvent;
    },
    connectNats: (): Promise<NatsConnection> => {
      const { NATS_URL, NATS_ACCOUNT_SEED } = serviceVariables(data);
      return connectNats({ natsUrl: NATS_URL, natsAccountSeed: NATS_ACCOUNT_SEED });
    },
    close: async (): Promise<void> => {
      await Promise.all([stop(), ...otherPrograms.map((each) => each.stop())]);
      await endRemainingProcesses();
    },
  };
};

export type Platform = Awaited<ReturnType<typeof openPlatform>>;

/** Returns the parsed body of a response. @throws Error if the response has a status other than `status` */
export const expectReply = async <T>(reply: Promise<Reply>, status = 201): Promise<T> => {
  const { status: actual, text } = await reply;
  if (actual !== status) throw new Error(`${actual} instead of ${status}: ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
};

/** Runs a test with a platform. Stops the platform in any case, even if this process gets SIGTERM or SIGINT. */
export const withPlatform = (use: (platform: Platform) => Promise<void>, variables: NodeJS.ProcessEnv = {}): Promise<void> =>
  withTempDirectory(async (dir) => {
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
  });

/**
 * Returns a function like `withPlatform` with which all tests of a file share one platform. The platform starts with
 * the first test that uses it and stops after the last test of the file. Each test must leave it usable.
 */
export const sharedPlatform = (variables: NodeJS.ProcessEnv = {}): ((use: (platform: Platform) => Promise<void>) => Promise<void>) => {
  const started = Promise.withResolvers<Platform>();
  const finished = Promise.withResolvers<void>();
  let running: Promise<void> | undefined;
  const run = (platform: Platform): Promise<void> => {
    started.resolve(platform);
    return finished.promise;
  };
  test.after(async () => {
    finished.resolve();
    await running?.catch(() => {});
  });
  return async (use) => {
    if (!running) {
      running = withPlatform(run, variables);
      running.catch(started.reject);
    }
    await use(await started.promise);
  };
};
