import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUserCredentials, credentialsFile, keyPairOf, operatorJwt } from './jwt.ts';
import { platformAccountJwt, publicKeyOf, runnerAccountJwt, systemAccountJwt } from './server-accounts.ts';
import { ensureSeeds, type ServerSeeds } from './server-keys.ts';

// This program writes the files of the embedded NATS server: its keys (at the first start only), its configuration, and
// credentials for the NATS command-line tools. It runs as a separate process, so that the long-running supervisor need
// not load the library for NATS keys. Arguments: directory, port.

const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
/**
 * This limit is never reached in practice. By default, nats-server takes three quarters of the free space at its start, without its own
 * streams: after a restart, it would refuse messages although the disk has space.
 */
const MAX_FILE_BYTES = 2 ** 50;

const configuration = (dir: string, port: number, seeds: ServerSeeds): object => {
  const system = publicKeyOf(seeds.system);
  return {
    server_name: 'annals',
    listen: `127.0.0.1:${port}`,
    pid_file: join(dir, 'nats.pid'),
    max_payload: MAX_PAYLOAD_BYTES,
    jetstream: { store_dir: join(dir, 'jetstream'), max_memory_store: MAX_MEMORY_BYTES, max_file_store: MAX_FILE_BYTES },
    operator: operatorJwt(keyPairOf(seeds.operator), system),
    system_account: system,
    resolver: 'MEMORY',
    resolver_preload: {
      [system]: systemAccountJwt(seeds),
      [publicKeyOf(seeds.account)]: platformAccountJwt(seeds),
      [publicKeyOf(seeds.runners)]: runnerAccountJwt(seeds),
    },
  };
};

const [dir = '', port = ''] = process.argv.slice(2);
const seeds = ensureSeeds(dir);
writeFileSync(join(dir, 'nats.conf'), JSON.stringify(configuration(dir, Number(port), seeds), null, 2), { mode: 0o600 });
const operatorUser = createUserCredentials({ accountSeed: seeds.account, name: 'operator' });
writeFileSync(join(dir, 'annals.creds'), credentialsFile(operatorUser), { mode: 0o600 });
