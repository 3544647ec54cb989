import { setTimeout as sleep } from 'node:timers/promises';
import { Events, type NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import { createBackoff } from '../backoff.ts';
import type { Config } from '../config.ts';
import { connectNats } from './connect.ts';
import { isBrokerUnavailable } from './jetstream-errors.ts';
import { isUnsafeVersion, MIN_SAFE_VERSION } from './server-version.ts';

type WarningLogger = Pick<Logger, 'warn'>;

const CONNECT_TIMEOUT_MS = 2_000;
const RETRY = { minMs: 50, maxMs: 250 };
/** In milliseconds, for a broker without an answer, which may start later than this process. A rejected user is logged at once. */
const WARN_AFTER_MS = 5_000;
const WARN_INTERVAL_MS = 60_000;

/** Returns a function that logs why the broker cannot be reached, at most once a minute. */
const createOutageWarning = (logger: WarningLogger) => {
  let warnedAt = 0;
  return (reason: string): void => {
    if (Date.now() - warnedAt < WARN_INTERVAL_MS) return;
    warnedAt = Date.now();
    logger.warn(`the message broker cannot be reached: ${reason}`);
  };
};

const warnAboutVersion = ({ info }: NatsConnection, logger: WarningLogger): void => {
  if (info && isUnsafeVersion(info.version))
    logger.warn(`nats-server ${info.version} may lose messages when it is killed: use ${MIN_SAFE_VERSION} or later`);
};

/** Retries without limit, so that the process can start without the broker. */
export const connectInBackground = (config: Pick<Config, 'natsUrl' | 'natsAccountSeed'>, logger: WarningLogger) => {
  const warn = createOutageWarning(logger);
  const closing = new AbortController();
  const closed = Promise.withResolvers<undefined>();
  let connected: NatsConnection | undefined;
  let reason = 'no answer from NATS_URL';
  /** The client is trying to reconnect; its `isClosed` is still false. */
  let isLost = false;

  const watch = async (nats: NatsConnection): Promise<void> => {
    for await (const { type } of nats.status()) {
      if (type === Events.Disconnect) isLost = true;
      if (type === Events.Reconnect) isLost = false;
    }
  };

  const connect = async (): Promise<NatsConnection | undefined> => {
    const retry = createBackoff(RETRY);
    while (!closing.signal.aborted) {
      try {
        connected = await connectNats(config, { waitForServer: false });
        if (closing.signal.aborted) await connected.close();
        void watch(connected);
        warnAboutVersion(connected, logger);
        return connected;
      } catch (error) {
        reason = (error as Error).message;
        if (!isBrokerUnavailable(error)) warn(reason);
        await retry.wait(closing.signal);
      }
    }
    return undefined;
  };

  const warning = setInterval(() => warn(reason), WARN_AFTER_MS).unref();
  // An attempt can last for many seconds: do not make `close` wait for it.
  const connecting = Promise.race([connect(), closed.promise]).finally(() => clearInterval(warning));

  return {
    /** @throws Refusal unavailable if there is no connection within 2 s */
    connection: async (): Promise<NatsConnection> => {
      const nats = connected ?? (await Promise.race([connecting, sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false })]));
      if (!nats) throw new Refusal('unavailable', 'The message broker cannot be reached: try again', { retryAfter: 5 });
      return nats;
    },
    /** Waits without a time limit. Undefined if `close` was called before there was a connection. */
    whenConnected: (): Promise<NatsConnection | undefined> => connecting,
    /** Returns the connection, even if it is lost at present; undefined if there has never been one. */
    current: (): NatsConnection | undefined => connected,
    isHealthy: (): boolean => connected !== undefined && !isLost && !connected.isClosed(),
    close: async (): Promise<void> => {
      closing.abort();
      closed.resolve(undefined);
      await connected?.close();
    },
  };
};
