import { type Authenticator, type ConnectionOptions, connect, jwtAuthenticator, type NatsConnection } from 'nats';
import type { Config } from '../config.ts';
import { createUserCredentials } from './jwt.ts';

const RECONNECT_DELAY_MS = 250;
/** nats-server may never answer a connection that begins while it applies an update of the account. */
const CONNECT_TIMEOUT_MS = 10_000;
const PING_INTERVAL_MS = 20_000;

/**
 * The options of every connection that must last as long as the process. Without `ignoreAuthErrorAbort`, the client
 * closes a connection forever after it was rejected twice, for example by a server that does not know the account yet.
 */
export const LASTING_CONNECTION = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: RECONNECT_DELAY_MS,
  timeout: CONNECT_TIMEOUT_MS,
  ignoreAuthErrorAbort: true,
} as const satisfies ConnectionOptions;

/** Signs new credentials for each attempt to connect, because the server may have revoked the earlier ones. */
export const accountAuthenticator =
  (accountSeed: string): Authenticator =>
  (nonce) => {
    const user = createUserCredentials({ accountSeed, name: 'annals' });
    return jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed))(nonce);
  };

/** The NATS client does not read user and password from the URL. */
const passwordIn = (url: string): { user?: string; pass?: string } => {
  const { username, password } = new URL(url);
  return username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : {};
};

const hostOf = (url: string): string => new URL(url).host;

const authentication = (accountSeed: string | undefined, urls: readonly string[]) =>
  accountSeed ? { authenticator: accountAuthenticator(accountSeed) } : passwordIn(urls[0]!);

/**
 * Connects to NATS. If an account seed is configured, connects as a user of that account; otherwise with the user and
 * password in the first URL. If the server cannot be reached or rejects the user, tries again without a limit, unless
 * `waitForServer` is false. If the connection is lost later, it is re-established, without a limit.
 * @throws Error if no URL is configured; if `waitForServer` is false, also if there is no connection
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
    ...LASTING_CONNECTION,
    waitOnFirstConnect: waitForServer,
    pingInterval: PING_INTERVAL_MS,
  });
};
