import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { accountJwt, createUserCredentials, credentialsFile, keyPairOf, operatorJwt } from './jwt.ts';
import { natsBinary } from './server-binary.ts';
import { ensureSeeds, type ServerSeeds } from './server-keys.ts';

export type NatsProcess = ManagedProcess & { readonly url: string; readonly accountSeed: string };

const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const STOP_TIMEOUT_MS = 5_000;

const configuration = (dir: string, port: number, seeds: ServerSeeds): object => {
  const operator = keyPairOf(seeds.operator);
  const [system, account] = [seeds.system, seeds.account].map((seed) => keyPairOf(seed).getPublicKey()) as [string, string];
  return {
    server_name: 'annals',
    listen: `127.0.0.1:${port}`,
    pid_file: join(dir, 'nats.pid'),
    max_payload: MAX_PAYLOAD_BYTES,
    jetstream: { store_dir: join(dir, 'jetstream'), max_memory_store: MAX_MEMORY_BYTES },
    operator: operatorJwt(operator, system),
    system_account: system,
    resolver: 'MEMORY',
    resolver_preload: {
      [system]: accountJwt(operator, { publicKey: system, name: 'SYS', jetstream: false }),
      [account]: accountJwt(operator, { publicKey: account, name: 'annals', jetstream: true }),
    },
  };
};

/**
 * Prepares nats-server with JetStream on 127.0.0.1. It accepts only users of its accounts. The file `annals.creds` lets
 * the NATS command-line tools connect. @throws if no nats-server is found or downloaded
 */
export const natsProcess = async ({ dir, port }: { dir: string; port: number }): Promise<NatsProcess> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const command = await natsBinary(dir);
  const seeds = ensureSeeds(dir);
  const file = join(dir, 'nats.conf');
  writeFileSync(file, JSON.stringify(configuration(dir, port, seeds), null, 2), { mode: 0o600 });
  const operatorUser = createUserCredentials({ accountSeed: seeds.account, name: 'operator' });
  writeFileSync(join(dir, 'annals.creds'), credentialsFile(operatorUser), { mode: 0o600 });
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
    accountSeed: seeds.account,
  };
};
