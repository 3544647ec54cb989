import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, Events, jwtAuthenticator, type NatsConnection } from 'nats';
import type { KeyPair } from 'nkeys.js';
import { accountJwt, keyOf, newUser } from './jwt.ts';

type Seeds = { readonly operator: string; readonly system: string; readonly account: string };

export type AccountParts = { annalsData: string; natsUrl?: string | undefined; natsAccountSeed?: string | undefined };

/** The keys of the embedded server, where that is the one in use; on a cluster of somebody else's we hold no operator's key. */
const seedsOf = ({ annalsData, natsAccountSeed }: AccountParts): Seeds | null => {
  const file = join(annalsData, 'nats', 'keys.json');
  if (!existsSync(file)) return null;
  const seeds = JSON.parse(readFileSync(file, 'utf8')) as Seeds;
  return seeds.account === natsAccountSeed ? seeds : null;
};

const encode = (claims: object): string => Buffer.from(JSON.stringify(claims)).toString('base64url');

/** The account's claim with users in it that are let in no more, by public key and the second up to which their own claims are void. */
const claimOf = (operator: KeyPair, publicKey: string, revocations: Readonly<Record<string, number>>): string => {
  const [header, body] = accountJwt(operator, { publicKey, name: 'annals', jetstream: true }).split('.');
  const claims = JSON.parse(Buffer.from(body!, 'base64url').toString()) as { nats: object };
  const text = `${header}.${encode({ ...claims, nats: { ...claims.nats, revocations } })}`;
  return `${text}.${Buffer.from(operator.sign(new TextEncoder().encode(text))).toString('base64url')}`;
};

const open = (url: string, seeds: Seeds): Promise<NatsConnection> => {
  const user = newUser({ accountSeed: seeds.system, name: 'annals' });
  return connect({
    servers: new URL(url).host,
    name: 'annals accounts',
    authenticator: jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed)),
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
  });
};

/** The account of the embedded server; null where the server is none of ours. `renewed` is called when it was started again and has forgotten. */
export const openAccount = async (parts: AccountParts, renewed: () => void) => {
  const seeds = seedsOf(parts);
  if (!seeds || !parts.natsUrl) return null;
  const system = await open(parts.natsUrl, seeds);
  const operator = keyOf(seeds.operator);
  const account = keyOf(seeds.account).getPublicKey();
  void (async () => {
    for await (const { type } of system.status()) if (type === Events.Reconnect) renewed();
  })();
  return {
    /** Lets these users in no more, and ends their connections. @throws where the server does not take it */
    revoke: async (revocations: Readonly<Record<string, number>>): Promise<void> => {
      const answer = await system.request(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.UPDATE`, claimOf(operator, account, revocations), {
        timeout: 5_000,
      });
      const { data, error } = answer.json<{ data?: { code: number }; error?: { description: string } }>();
      if (data?.code !== 200) throw new Error(error?.description ?? 'the server did not take the account');
    },
    close: (): Promise<void> => system.close(),
  };
};

export type Account = NonNullable<Awaited<ReturnType<typeof openAccount>>>;
