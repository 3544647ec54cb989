import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import { MIN_MAX_PAYLOAD } from '../../commands/runners/relay.reactor.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';
import { readJson } from '../durable-files.ts';
import { connectNats } from '../nats/connect.ts';
import { assertStreamIsOurs, unmarkedStreams } from '../nats/jetstream.ts';
import { runnersShareAccount, SHARED_ACCOUNT } from '../nats/runner-account.ts';
import { isUnsafeVersion, MIN_SAFE_VERSION } from '../nats/server-version.ts';
import { fail, none, ok, type Result, reasonOf, warn } from './finding.ts';

type Address = Partial<Pick<Config, 'natsUrl' | 'natsAccountSeed' | 'natsRunnerAccountSeed'>>;

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '');

const connectionFailure = (error: unknown, downAdvice: string): Result => {
  const isRefused = /AUTHORIZATION|AUTHENTICATION|PERMISSIONS/.test(codeOf(error));
  return isRefused
    ? fail(`refuses the credentials: ${reasonOf(error)}`, 'set NATS_ACCOUNT_SEED to the seed of an account that this server knows')
    : fail(`does not answer: ${reasonOf(error)}`, downAdvice);
};

const jetStreamFailure = (error: unknown): Result => {
  if (error instanceof Refusal) return fail(error.message, 'use a NATS account in which no other application has streams');
  if (codeOf(error) === '503')
    return fail('JetStream is off', 'start nats-server with JetStream: nats-server -js, or jetstream {} in its configuration');
  return fail(`JetStream refuses requests: ${reasonOf(error)}`, 'enable JetStream for the account of NATS_ACCOUNT_SEED');
};

const isOpen = (natsUrl: string): Promise<boolean> =>
  connectNats({ natsUrl, natsAccountSeed: undefined }, { waitForServer: false }).then(
    (stranger) => stranger.close().then(() => true),
    () => false,
  );

const judgeServer = async (connection: NatsConnection, address: Address, isServerOpen: () => Promise<boolean>): Promise<Result> => {
  const { version = '', max_payload = MIN_MAX_PAYLOAD } = connection.info ?? {};
  let unmarked: string[];
  let storage: number;
  try {
    ({ storage } = await (await connection.jetstreamManager()).getAccountInfo());
    await assertStreamIsOurs(connection);
    unmarked = await unmarkedStreams(connection);
  } catch (error) {
    return jetStreamFailure(error);
  }
  const summary = `version ${version}, JetStream is on`;
  if (max_payload < MIN_MAX_PAYLOAD)
    return fail(
      `max_payload is ${max_payload}, so no message is sent to runners`,
      `set max_payload of nats-server to at least ${MIN_MAX_PAYLOAD} bytes`,
    );
  if (isUnsafeVersion(version))
    return warn(`${summary}; this version may lose streams when it is killed`, `use ${MIN_SAFE_VERSION} or later`);
  if (unmarked.length > 0)
    return warn(
      `${summary}; ${unmarked.join(' and ')} may belong to another application: Annals has not marked it`,
      'ignore this if an early version of Annals created it; otherwise use a NATS account in which no other application has streams',
    );
  if (!address.natsAccountSeed) return warn(`${summary}; no runner can connect`, 'set NATS_ACCOUNT_SEED');
  if (await isServerOpen())
    return warn(
      `${summary}; every client can connect and read all messages, and credentials of runners cannot be revoked`,
      'configure accounts on the server (see docs/clusters.md)',
    );
  if (runnersShareAccount(address)) return warn(`${summary}; ${SHARED_ACCOUNT}`, 'give runners a separate account (see docs/clusters.md)');
  return { ...ok(summary), figures: { stored_bytes: storage } };
};

/** Rejects if the server does not answer. */
export const checkBroker = (connection: NatsConnection, address: Address): Promise<Result> =>
  judgeServer(connection, address, async () => false);

const DEFAULT_SYNC_INTERVAL = '2m';

/** How often the embedded server syncs to the disk: from its configuration file, because a server does not report it to clients. */
export const checkSyncInterval = async (annalsData: string, natsUrl: string | undefined): Promise<Result> => {
  if (natsUrl) return none('not checked: the server of NATS_URL does not report it (see sync_interval in docs/clusters.md)');
  const file = join(annalsData, 'nats/nats.conf');
  const configuration = readJson<{ jetstream?: { sync_interval?: string } }>(file);
  if (!configuration) return none(`not checked: ${file} does not exist yet`);
  const interval = configuration.jetstream?.sync_interval ?? DEFAULT_SYNC_INTERVAL;
  return ok(
    interval === 'always'
      ? 'every message is written to the disk at once'
      : `every ${interval}; after a power failure, messages are sent again`,
  );
};

/** Checks the connection, JetStream, the version and the authentication. `downAdvice` says how to start the server. */
export const checkNats = async (address: Address, downAdvice: string): Promise<Result> => {
  let connection: NatsConnection;
  try {
    connection = await connectNats(address, { waitForServer: false });
  } catch (error) {
    return connectionFailure(error, downAdvice);
  }
  return judgeServer(connection, address, () => isOpen(address.natsUrl!)).finally(() => connection.close());
};
