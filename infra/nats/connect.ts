import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import type { Config } from '../config.ts';
import { createUserCredentials } from './jwt.ts';

const RECONNECT_DELAY_MS = 250;
const PING_INTERVAL_MS = 20_000;

/**
 * Returns the user and password in the URL of a NATS server. The NATS client does not read them from the URL, so they
 * must be passed to it as options.
 */
const passwordIn = (url: string): { user?: string; pass?: string } => {
  const { username, password } = new URL(url);
  return username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : {};
};

const hostOf = (url: string): string => new URL(url).host;

const authentication = (accountSeed: string | undefined, urls: readonly string[]) => {
  if (!accountSeed) return passwordIn(urls[0]!);
  const user = createUserCredentials({ accountSeed, name: 'annals' });
  return { authenticator: jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed)) };
};

/**
 * Connects to NATS. If an account seed is configured, connects as a user of that account; otherwise with the user and
 * password in the first URL. If the server cannot be reached, waits for it, unless `waitForServer` is false. If the
 * connection is lost later, it is re-established, without a limit.
 * @throws Error if the server rejects the user, or if no URL is configured
 */
export const connectNats = async (
  { natsUrl, natsAccountSeed }: Pick<Config, 'natsUrl' | 'natsAccountSeed'>,
  { waitForServer = true } = {},
): Promise<NatsConnection> => {
  if (!natsUrl) throw new Error('NATS_URL is not set');
  const urls = natsUrl.split(',').map((url) => url.trim());
  return connect({
    servers: urls.map(hostOf),
    name: 'annals',
    ...(urls.some((url) => url.startsWith('tls:')) && { tls: {} }),
    ...authentication(natsAccountSeed, urls),
    waitOnFirstConnect: waitForServer,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_DELAY_MS,
    pingInterval: PING_INTERVAL_MS,
  });
};
