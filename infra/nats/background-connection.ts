import { setTimeout as sleep } from 'node:timers/promises';
import { Events, type NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import type { Config } from '../config.ts';
import { connectNats } from './connect.ts';
import { isOld, MIN_SAFE_VERSION } from './server-version.ts';

const CONNECT_TIMEOUT_MS = 2_000;
/** A broker that only starts a little later than we is nothing to speak of; one that stays away is, once a minute. */
const WARN_AFTER_MS = 5_000;
const TELL_EVERY_MS = 60_000;

/** A connection to the broker that is made in the background and for ever: nothing waits for it to start. */
export const connectInBackground = (config: Pick<Config, 'natsUrl' | 'natsAccountSeed'>, logger: Pick<Logger, 'warn'>) => {
  let connected: NatsConnection | undefined;
  let closed = false;
  /** The server is gone, and the client looks for one: it counts the connection as open all the while. */
  let isLost = false;
  let toldAt = 0;
  const tell = (why: string): void => {
    if (Date.now() - toldAt < TELL_EVERY_MS) return;
    toldAt = Date.now();
    logger.warn(`the message broker can not be reached: ${why}`);
  };
  const warnOfAge = ({ info }: NatsConnection): void => {
    if (info && isOld(info.version))
      logger.warn(`nats-server ${info.version} may lose messages when it is killed: take ${MIN_SAFE_VERSION} or later`);
  };
  const watch = async (nats: NatsConnection): Promise<void> => {
    for await (const { type } of nats.status()) {
      if (type === Events.Disconnect) isLost = true;
      if (type === Events.Reconnect) isLost = false;
    }
  };
  const waiting = setInterval(() => tell('no answer from NATS_URL'), WARN_AFTER_MS).unref();
  const closing = Promise.withResolvers<undefined>();
  const connect = async (): Promise<NatsConnection | undefined> => {
    for (let wait = 50; !closed; wait = Math.min(2_000, wait * 2)) {
      try {
        connected = await connectNats(config);
        if (closed) await connected.close();
        void watch(connected);
        warnOfAge(connected);
        return connected;
      } catch (error) {
        tell((error as Error).message);
        await sleep(wait);
      }
    }
    return undefined;
  };
  // The client waits for ever for a server that isn't there: whoever closes us does not.
  const connecting = Promise.race([connect(), closing.promise]).finally(() => clearInterval(waiting));

  return {
    /** @throws Refusal unavailable where the broker is not there within 2 s */
    connection: async (): Promise<NatsConnection> => {
      const nats = connected ?? (await Promise.race([connecting, sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false })]));
      if (!nats) throw new Refusal('unavailable', 'the message broker can not be reached', { retryAfter: 5 });
      return nats;
    },
    /** The connection, however long it takes; undefined once closed. */
    whenConnected: (): Promise<NatsConnection | undefined> => connecting,
    healthy: (): boolean => connected !== undefined && !isLost && !connected.isClosed(),
    close: async (): Promise<void> => {
      closed = true;
      closing.resolve(undefined);
      await connected?.close();
    },
  };
};
