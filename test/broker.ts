import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { connectNats } from '../infra/nats/connect.ts';
import { nats as embedded } from '../infra/nats/embedded.ts';
import { freePort } from '../infra/process.ts';

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => (child.exitCode !== null || child.signalCode !== null ? resolve() : void child.once('exit', () => resolve())));

/** A nats-server of a test's own, that it may kill, freeze, empty and start again. */
export const broker = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-nats-'));
  const { command, args, url, accountSeed } = await embedded({ dir, port: await freePort() });
  const address = { natsUrl: url, natsAccountSeed: accountSeed };
  const connections: NatsConnection[] = [];
  let child: ChildProcess;

  const start = async (): Promise<void> => {
    child = spawn(command, [...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    await new Promise<void>((resolve, reject) => {
      let said = '';
      child.stderr!.on('data', (text: Buffer) => {
        said = (said + text.toString()).slice(-4_000);
        if (/Server is ready/.test(said)) resolve();
      });
      child.once('exit', () => reject(new Error(`nats-server ended: ${said}`)));
    });
  };

  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended(child);
  };

  // A test that runs out of time ends by a signal: its server would stay.
  const endNow = (): void => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 10 });
  };
  const leave = (): never => process.exit(1);
  process.once('exit', endNow);
  process.once('SIGTERM', leave);

  await start();
  return {
    address,
    dir,
    start,
    kill,
    /** Everything it kept is gone. */
    empty: (): void => rmSync(join(dir, 'jetstream'), { recursive: true, force: true }),
    freeze: (): void => void child.kill('SIGSTOP'),
    thaw: (): void => void child.kill('SIGCONT'),
    connect: async (): Promise<NatsConnection> => {
      const connection = await connectNats(address);
      connections.push(connection);
      return connection;
    },
    close: async (): Promise<void> => {
      await Promise.all(connections.map((connection) => connection.close()));
      process.off('exit', endNow);
      process.off('SIGTERM', leave);
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

export type Broker = Awaited<ReturnType<typeof broker>>;

/** Runs a body with a broker of its own and ends that one, however the body ends. */
export const withBroker = (body: (broker: Broker) => Promise<void>) => async (): Promise<void> => {
  const one = await broker();
  try {
    await body(one);
  } finally {
    await one.close();
  }
};

/** Waits until a condition holds. @throws where it does not within `ms` */
export const until = async (holds: () => boolean | Promise<boolean>, ms = 20_000, what = 'what was waited for'): Promise<void> => {
  for (const end = Date.now() + ms; !(await holds()); await sleep(20))
    if (Date.now() > end) throw new Error(`${what} did not come in ${ms} ms`);
};
