import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import type { Config } from '../config.ts';
import { newUser } from './jwt.ts';

const RECONNECT_MS = 250;

/** user:password of the first URL; the client leaves them out of account. */
const passwordIn = (url: string): { user?: string; pass?: string } => {
  const { username, password } = new URL(url);
  return username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : {};
};

const serverOf = (url: string): string => new URL(url).host;

const identity = (seed: string | undefined, urls: readonly string[]) => {
  if (!seed) return passwordIn(urls[0]!);
  const user = newUser({ accountSeed: seed, name: 'annals' });
  return { authenticator: jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed)) };
};

/**
 * Connects to NATS, as a user of its own where the account's seed is known, else with the URL's user and password. Waits for a server
 * that is not there yet unless told not to, and connects again for ever. @throws where the server refuses us or no URL is set
 */
export const connectNats = async (
  { natsUrl, natsAccountSeed }: Pick<Config, 'natsUrl' | 'natsAccountSeed'>,
  { waits = true } = {},
): Promise<NatsConnection> => {
  if (!natsUrl) throw new Error('NATS_URL is not set');
  const urls = natsUrl.split(',').map((url) => url.trim());
  return connect({
    servers: urls.map(serverOf),
    name: 'annals',
    ...(urls.some((url) => url.startsWith('tls:')) && { tls: {} }),
    ...identity(natsAccountSeed, urls),
    waitOnFirstConnect: waits,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: 20_000,
  });
};
