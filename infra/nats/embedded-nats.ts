import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from '../durable-files.ts';
import { entryPoint } from '../program.ts';
import { runHelper } from '../supervision/helper-programs.ts';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { natsBinary } from './server-binary.ts';
import type { ServerSeeds } from './server-keys.ts';

/** `report` gets lines for the operator. */
type NatsOptions = { dir: string; port: number; report?: (line: string) => void };

export type NatsProcess = ManagedProcess & { readonly url: string; readonly accountSeed: string; readonly runnerAccountSeed: string };

const STOP_TIMEOUT_MS = 5_000;

/**
 * The server listens on 127.0.0.1, and accepts only users of its own accounts; NATS tools can connect with the file `annals.creds`.
 * @throws Error if there is no nats-server and none can be downloaded
 */
export const natsProcess = async ({ dir, port, report }: NatsOptions): Promise<NatsProcess> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const [command] = await Promise.all([
    natsBinary(dir, report),
    runHelper(process.execPath, [entryPoint('infra/nats/write-server-config.ts'), dir, String(port)]),
  ]);
  const { account, runners } = readJson<ServerSeeds>(join(dir, 'keys.json'))!;
  const file = join(dir, 'nats.conf');
  return {
    name: 'nats',
    command,
    args: ['-c', file],
    env: { PATH: process.env.PATH },
    stopSignal: 'SIGINT',
    graceMs: STOP_TIMEOUT_MS,
    ownPidFile: { file: join(dir, 'nats.pid'), mark: file },
    readyPattern: /Server is ready/,
    isLowPriority: true,
    url: `nats://127.0.0.1:${port}`,
    accountSeed: account,
    runnerAccountSeed: runners,
  };
};
