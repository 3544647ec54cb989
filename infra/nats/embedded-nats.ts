import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, createOperator } from 'nkeys.js';
import { replaceFile } from '../durable-files.ts';
import type { ManagedProcess } from '../supervision/managed-process.ts';
import { accountJwt, credentialsFile, keyOf, newUser, operatorJwt, seedOf } from './jwt.ts';
import { natsBinary } from './server-binary.ts';

type Seeds = { operator: string; system: string; account: string };

export type Nats = ManagedProcess & { readonly url: string; readonly accountSeed: string };

const MAX_PAYLOAD = 8 * 1024 * 1024;
const MAX_MEMORY = 256 * 1024 * 1024;

const makeSeeds = (): Seeds => ({ operator: seedOf(createOperator()), system: seedOf(createAccount()), account: seedOf(createAccount()) });

/** The keys of this server's operator and accounts, made once. */
const seedsIn = (file: string): Seeds => {
  if (!existsSync(file)) replaceFile(file, JSON.stringify(makeSeeds()));
  return JSON.parse(readFileSync(file, 'utf8')) as Seeds;
};

const configuration = (dir: string, port: number, seeds: Seeds): object => {
  const [operator, system, account] = [keyOf(seeds.operator), keyOf(seeds.system).getPublicKey(), keyOf(seeds.account).getPublicKey()];
  return {
    server_name: 'annals',
    listen: `127.0.0.1:${port}`,
    pid_file: join(dir, 'nats.pid'),
    max_payload: MAX_PAYLOAD,
    jetstream: { store_dir: join(dir, 'jetstream'), max_memory_store: MAX_MEMORY },
    operator: operatorJwt(operator, system),
    system_account: system,
    resolver: 'MEMORY',
    resolver_preload: {
      [system]: accountJwt(operator, { publicKey: system, name: 'SYS', jetstream: false }),
      [account]: accountJwt(operator, { publicKey: account, name: 'annals', jetstream: true }),
    },
  };
};

/** Prepares nats-server with JetStream on 127.0.0.1, closed to whoever has no key of its account. `annals.creds` lets NATS' own tools in. */
export const nats = async ({ dir, port }: { dir: string; port: number }): Promise<Nats> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const command = await natsBinary(dir);
  const seeds = seedsIn(join(dir, 'keys.json'));
  const file = join(dir, 'nats.conf');
  writeFileSync(file, JSON.stringify(configuration(dir, port, seeds), null, 2), { mode: 0o600 });
  writeFileSync(join(dir, 'annals.creds'), credentialsFile(newUser({ accountSeed: seeds.account, name: 'operator' })), { mode: 0o600 });
  return {
    name: 'nats',
    command,
    args: ['-c', file],
    env: { PATH: process.env.PATH },
    stopSignal: 'SIGINT',
    graceMs: 5_000,
    ownPidFile: { file: join(dir, 'nats.pid'), mark: file },
    readyPattern: /Server is ready/,
    isLowPriority: true,
    url: `nats://127.0.0.1:${port}`,
    accountSeed: seeds.account,
  };
};
