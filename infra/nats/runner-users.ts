import type { NatsConnection } from 'nats';
import { createUser } from 'nkeys.js';
import type { CreateBrokerUser } from '../../commands/runners/runner-credential.ts';
import { Refusal } from '../../domain/refusal.ts';
import { inboxOf, permissionsOf } from '../../domain/runners/runner-credential.ts';
import { MAX_PUBLISHED_BYTES } from '../../domain/runners/score-report.ts';
import { ensureConsumer, ensureInbound } from './jetstream.ts';
import { seedOf, userJwt } from './jwt.ts';

export type BrokerAddress = {
  natsUrl?: string | undefined;
  natsAccountSeed?: string | undefined;
  /** The seed of the account to which runners belong; the account of `natsAccountSeed` if absent. */
  natsRunnerAccountSeed?: string | undefined;
};

/** Returns the broker's URLs without the user and password that Annals itself uses. */
const publicAddress = (urls: string): string =>
  urls
    .split(',')
    .map((text) => {
      const { protocol, host } = new URL(text.trim());
      return `${protocol}//${host}`;
    })
    .join(',');

const requireSetting = (value: string | undefined, name: string): string => {
  if (value) return value;
  throw new Refusal('not_configured', `Runner credentials need ${name}: set it and restart Annals`);
};

const unavailable = (cause: unknown): Refusal =>
  Object.assign(new Refusal('unavailable', 'The message broker does not answer: try again', { retryAfter: 2 }), { cause });

/** A user may read the messages of one agent. The signed JWT contains all permissions. */
export const brokerUserFactory =
  (nats: NatsConnection, { natsUrl, natsAccountSeed, natsRunnerAccountSeed }: BrokerAddress): CreateBrokerUser =>
  async ({ tenant, agent, credential, expires_at }) => {
    const url = publicAddress(requireSetting(natsUrl, 'NATS_URL'));
    const accountSeed = natsRunnerAccountSeed ?? requireSetting(natsAccountSeed, 'NATS_ACCOUNT_SEED');
    await ensureInbound(nats)
      .then(() => ensureConsumer(nats, tenant, agent))
      .catch((error: unknown) => {
        throw error instanceof Refusal ? error : unavailable(error);
      });
    const user = createUser();
    const { publish, subscribe } = permissionsOf(tenant, agent, inboxOf(credential));
    const public_key = user.getPublicKey();
    const jwt = userJwt({
      accountSeed,
      name: `runner ${credential}`,
      publicKey: public_key,
      permissions: { publish: { allow: publish }, subscribe: { allow: subscribe } },
      maxPayload: MAX_PUBLISHED_BYTES,
      expiresAt: new Date(expires_at),
    });
    return { url, jwt, seed: seedOf(user), public_key };
  };
