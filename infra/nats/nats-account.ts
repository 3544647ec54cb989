import { join } from 'node:path';
import { connect, Events, type NatsConnection } from 'nats';
import { accountAuthenticator, LASTING_CONNECTION } from './connect.ts';
import type { BrokerAddress } from './runner-users.ts';
import { publicKeyOf, runnerAccountJwt } from './server-accounts.ts';
import { readSeeds, type ServerSeeds } from './server-keys.ts';

const UPDATE_TIMEOUT_MS = 5_000;

export type AccountParts = BrokerAddress & { annalsData: string };

/** Null for a server that is not embedded: Annals has no operator key for it. */
const seedsInUse = ({ annalsData, natsAccountSeed, natsRunnerAccountSeed }: AccountParts): ServerSeeds | null => {
  const seeds = readSeeds(join(annalsData, 'nats'));
  return seeds?.account === natsAccountSeed && seeds?.runners === natsRunnerAccountSeed ? seeds : null;
};

/** Connects once: the server ignores updates of accounts that it has not loaded, and would admit revoked users. */
const loadAccount = async (url: string, seeds: ServerSeeds): Promise<void> => {
  const authenticator = accountAuthenticator(seeds.runners);
  const runner = await connect({ servers: new URL(url).host, authenticator, reconnect: false, timeout: UPDATE_TIMEOUT_MS });
  await runner.close();
};

const connectAsSystem = (url: string, seeds: ServerSeeds): Promise<NatsConnection> =>
  connect({
    ...LASTING_CONNECTION,
    servers: new URL(url).host,
    name: 'annals accounts',
    authenticator: accountAuthenticator(seeds.system),
    waitOnFirstConnect: true,
  });

/** Opens the account of the runners. Null for an external server. A restarted server loses revocations: `onReconnect` is called then. */
export const openAccount = async (parts: AccountParts, onReconnect: () => void) => {
  const seeds = seedsInUse(parts);
  if (!seeds || !parts.natsUrl) return null;
  const { natsUrl } = parts;
  const system = await connectAsSystem(natsUrl, seeds);
  const publicKey = publicKeyOf(seeds.runners);
  /** False if the server has not read the account yet. */
  const update = async (jwt: string): Promise<boolean> => {
    const response = await system.request(`$SYS.REQ.ACCOUNT.${publicKey}.CLAIMS.UPDATE`, jwt, { timeout: UPDATE_TIMEOUT_MS });
    const { data, error } = response.json<{ data?: { code: number; message: string }; error?: { description: string } }>();
    if (data?.code !== 200) throw new Error(error?.description ?? 'the NATS server did not accept the update of the account');
    return data.message === 'jwt updated';
  };
  void (async () => {
    for await (const { type } of system.status()) if (type === Events.Reconnect) onReconnect();
  })();
  return {
    /**
     * Also closes their connections. `revocations` maps public keys to Unix seconds: credentials issued up to then are revoked.
     * @throws Error if the server does not accept the update
     */
    revoke: async (revocations: Readonly<Record<string, number>>): Promise<void> => {
      const jwt = runnerAccountJwt(seeds, revocations);
      if ((await update(jwt)) || Object.keys(revocations).length === 0) return;
      await loadAccount(natsUrl, seeds);
      if (!(await update(jwt))) throw new Error('the NATS server ignored the update of the account');
    },
    close: (): Promise<void> => system.close(),
  };
};

export type Account = NonNullable<Awaited<ReturnType<typeof openAccount>>>;
