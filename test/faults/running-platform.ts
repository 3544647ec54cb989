import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { omit } from '../../domain/omit.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import { mainFile, type Program, type Stoppable, startProgram, stopInTime, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import type { platformProcesses } from './platform-processes.ts';

export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

/** The API key of the platform's first administrator. It is used only in tests. */
export const ADMIN_KEY = buildKey('Fau1tK3y', 'onlyTestsHaveThisKeyForThePlatfo');

/** The number of attempts until a request is given up. */
export const MAX_TRIES = 200;

/**
 * Returns the environment variables with which another process reaches the services of an `annals start` on this data
 * directory. `eventstoreUrl` is the URL of its event store if that is not embedded.
 */
const serviceVariables = (data: string, eventstoreUrl: string | undefined) => {
  const text = (...path: string[]): string => readFileSync(join(data, ...path), 'utf8').trim();
  const { ports } = JSON.parse(text('state.json')) as { ports: Record<'store' | 'nats', number> };
  const { account, runners } = JSON.parse(text('nats', 'keys.json')) as { account: string; runners: string };
  return {
    EVENTSTORE_URL:
      eventstoreUrl ?? `esdb://127.0.0.1:${ports.store}?tls=false&connectionName=${encodeURIComponent(text('store', 'secret'))}`,
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

/** Where a platform runs: its URL, its data directory, and a directory for files of the tests. */
export type PlatformPlace = { readonly url: string; readonly data: string; readonly dir: string };

/** Returns the environment of the processes of a platform in this place, with `variables` added. */
export const platformEnvironment = ({ url, data }: PlatformPlace, variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...unconfiguredEnvironment(),
  ANNALS_DATA: data,
  PORT: new URL(url).port,
  ANNALS_ADMIN_KEY: ADMIN_KEY,
  NO_COLOR: '1',
  ...variables,
});

/**
 * Returns functions that use a platform that runs in this place. `variables` are those of its environment, `services`
 * those with which another process reaches its services.
 */
export const connectPlatform = (
  place: PlatformPlace,
  variables: NodeJS.ProcessEnv = {},
  services = () => serviceVariables(place.data, variables.EVENTSTORE_URL),
) => {
  const { url, data } = place;
  const env = platformEnvironment(place, variables);
  const otherPrograms: Stoppable[] = [];

  /** Starts another `work` process that uses the same services. Resolves when its output matches `ready`. */
  const startWorkProcess = async (ready: RegExp, more: NodeJS.ProcessEnv = {}): Promise<Program> => {
    const program = startProgram(process.execPath, [mainFile, 'work'], { env: { ...env, ...services(), ...more } });
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
    const alone = omit(env, 'SMTP_LISTEN');
    const program = startProgram(process.execPath, [mainFile, 'serve'], { env: { ...alone, ...services(), PORT, ...more } });
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
    ...place,
    firstTenant,
    startServeProcess,
    startWorkProcess,
    call,
    /** Registers a program or a runner that `close` has to stop, too. */
    stopOnClose: (program: Stoppable): void => void otherPrograms.push(program),
    serviceVariables: services,
    openLog: (): Log => openLog(services().EVENTSTORE_URL),
    /** Returns a function that decrypts the sealed events of the platform's log. */
    eventOpener: (log: Log) => {
      const { openEvent, close } = openEventOpener({ log, masterKeyFile: join(data, 'master.key') });
      otherPrograms.push({ stop: close });
      return openEvent;
    },
    connectNats: (): Promise<NatsConnection> => {
      const { NATS_URL, NATS_ACCOUNT_SEED } = services();
      return connectNats({ natsUrl: NATS_URL, natsAccountSeed: NATS_ACCOUNT_SEED });
    },
    /** Stops the programs that were started or registered here. */
    closeOthers: async (): Promise<void> => void (await Promise.all(otherPrograms.splice(0).map(stopInTime))),
  };
};

/** A platform that runs, whoever has started it. */
export type RunningPlatform = ReturnType<typeof connectPlatform>;

/** A platform whose processes can be killed. */
export type KillablePlatform = RunningPlatform & Pick<ReturnType<typeof platformProcesses>, 'kill'>;

/** Returns the parsed body of a response. @throws Error if the response has a status other than `status` */
export const expectReply = async <T>(reply: Promise<Reply>, status = 201): Promise<T> => {
  const { status: actual, text } = await reply;
  if (actual !== status) throw new Error(`${actual} instead of ${status}: ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
};
