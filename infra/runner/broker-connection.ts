import { setTimeout as sleep } from 'node:timers/promises';
import { connect, Events, jwtAuthenticator, type Msg, type NatsConnection } from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { inboxOf, RENEW_AFTER_SHARE } from '../../domain/runners/runner-credential.ts';
import type { Credential } from './api-client.ts';
import type { OutageReport } from './outage-report.ts';

export const RENEWAL_RETRY_DELAY_MS = 5_000;
/** nats-server may never answer a connection that begins while it applies an update of the account. */
const CONNECT_TIMEOUT_MS = 10_000;

export type BrokerConnection = {
  readonly nats: NatsConnection;
  readonly credential: Credential;
  renewAt: number;
  /**
   * Called when it is lost or closed: earlier requests then get no answer, which the NATS client does not report. A
   * subscription that ends now is not made again, so the broker sends no answer to a request that nothing waits for.
   */
  readonly onInterrupted: Set<() => void>;
  /** Resolves when it is re-established or closed; null if it is not lost. What is sent meanwhile may be dropped. */
  lost: PromiseWithResolvers<void> | null;
  /** Whether a newer connection has replaced this connection. If so, the end of this connection is not an outage. */
  isReplaced: boolean;
};

const connectWith = (credential: Credential): Promise<NatsConnection> =>
  connect({
    servers: credential.url.split(',').map((url) => new URL(url).host),
    ...(credential.url.includes('tls://') && { tls: {} }),
    name: `runner ${credential.id}`,
    authenticator: jwtAuthenticator(credential.jwt, new TextEncoder().encode(credential.seed)),
    inboxPrefix: inboxOf(credential.id),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: 10_000,
  });

const renewTime = ({ expires_at }: Credential): number => Date.now() + RENEW_AFTER_SHARE * (Date.parse(expires_at) - Date.now());

const interrupt = (connection: BrokerConnection): void => {
  connection.lost ??= Promise.withResolvers();
  for (const notify of [...connection.onInterrupted]) notify();
};

const restore = (connection: BrokerConnection): void => {
  connection.lost?.resolve();
  connection.lost = null;
};

const watchReconnects = async (connection: BrokerConnection, outage: OutageReport): Promise<void> => {
  for await (const { type } of connection.nats.status()) {
    if (type === Events.Disconnect && !connection.isReplaced && !connection.nats.isClosed())
      outage.lost('the connection to the broker is lost');
    if (type === Events.Disconnect) interrupt(connection);
    if (type !== Events.Reconnect) continue;
    if (!connection.isReplaced) outage.regained();
    restore(connection);
  }
};

/** Waits until a lost connection is re-established or closed. @throws Error if it takes longer than `ms` milliseconds */
export const untilRestored = async ({ lost }: BrokerConnection, ms: number): Promise<void> => {
  if (!lost) return;
  const waiting = new AbortController();
  const tooLate = sleep(ms, true, { signal: waiting.signal, ref: false });
  const isTooLate = await Promise.race([lost.promise, tooLate.catch(() => {})]).finally(() => waiting.abort());
  if (isTooLate) throw new Error('the connection to the broker is lost');
};

/** Sends a request, and returns its answer. @throws Error at once if the connection is lost meanwhile; NatsError */
export const requestOver = (connection: BrokerConnection, send: (nats: NatsConnection) => Promise<Msg>): Promise<Msg> =>
  new Promise((resolve, reject) => {
    const end = (): void => reject(new Error('the connection to the broker was lost'));
    connection.onInterrupted.add(end);
    send(connection.nats)
      .then(resolve, reject)
      .finally(() => connection.onInterrupted.delete(end));
  });

const closed = () => new Error('the connection to the broker is closed');

const openConnection = async (credential: Credential, outage: OutageReport): Promise<BrokerConnection> => {
  const nats = await connectWith(credential).catch((error: Error) => {
    throw new Refusal('unavailable', `the broker at ${credential.url} does not accept the connection: ${error.message}`);
  });
  const connection: BrokerConnection = {
    nats,
    credential,
    renewAt: renewTime(credential),
    onInterrupted: new Set(),
    lost: null,
    isReplaced: false,
  };
  void watchReconnects(connection, outage);
  void nats.closed().then(() => {
    interrupt(connection);
    restore(connection);
  });
  return connection;
};

export type RenewingConnection = {
  /** Returns a connection whose credentials are still valid. @throws the errors of `issue`; Error after `close` */
  readonly get: () => Promise<BrokerConnection>;
  readonly latest: () => BrokerConnection | null;
  readonly close: () => Promise<void>;
};

export type CredentialSource = {
  readonly issue: () => Promise<Credential>;
  /** Runs `work` again if it fails for a temporary reason. Any other error is thrown, which stops the runner. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onRenewed: () => void;
  /** The connection calls it when the broker becomes unavailable, and when the broker is available again. */
  readonly outage: OutageReport;
  /** How long a replaced connection stays open, so that its requests can be answered. */
  readonly lingerMs: number;
};

/** Opens a new connection before the credentials expire, or earlier, at `renewAt`, which callers can set. */
export const keepConnected = ({ issue, retry, onRenewed, outage, lingerMs }: CredentialSource): RenewingConnection => {
  let current: BrokerConnection | null = null;
  let renewing: Promise<BrokerConnection> | null = null;
  let isClosed = false;
  /** Replaced connections that are still open. */
  const replaced = new Set<BrokerConnection>();

  const closeReplaced = async (old: BrokerConnection): Promise<void> => {
    replaced.delete(old);
    await old.nats.close();
  };

  const renew = async (): Promise<BrokerConnection> => {
    const old = current;
    const renewed = await retry(async () => {
      if (isClosed) throw closed();
      const credential = await issue();
      return outage.watch(() => openConnection(credential, outage));
    });
    if (old) old.isReplaced = true;
    current = renewed;
    onRenewed();
    if (old) {
      replaced.add(old);
      setTimeout(() => void closeReplaced(old), lingerMs).unref();
    }
    if (!isClosed) return renewed;
    await renewed.nats.close();
    throw closed();
  };

  const get = async (): Promise<BrokerConnection> => {
    if (isClosed) throw closed();
    if (current && !current.nats.isClosed() && Date.now() < current.renewAt) return current;
    renewing ??= renew().finally(() => {
      renewing = null;
    });
    const usable = current && !current.nats.isClosed() && Date.parse(current.credential.expires_at) > Date.now() ? current : null;
    if (!usable) return renewing;
    renewing.catch(() => {
      usable.renewAt = Date.now() + RENEWAL_RETRY_DELAY_MS;
    });
    return usable;
  };

  return {
    get,
    latest: () => current,
    close: async () => {
      isClosed = true;
      await renewing?.catch(() => {});
      await Promise.all([current?.nats.close(), ...[...replaced].map(closeReplaced)]);
    },
  };
};
