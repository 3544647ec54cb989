import { setTimeout as sleep } from 'node:timers/promises';
import { connect, Events, jwtAuthenticator, type Msg, type NatsConnection, nanos } from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { inboxOf } from '../../domain/runners/runner-credential.ts';
import type { Credential } from './api-client.ts';

/** How long a pull waits for a message; then it asks again, perhaps with newer credentials. */
const PULL_MS = 5_000;
const SETTLE_MS = 5_000;
const SETTLE_TRIES = 4;
/** Credentials are renewed when this part of their life is over. */
const RENEW_AT = 0.75;
const RENEW_RETRY_MS = 5_000;
const LOST_PAUSE_MS = 500;

/** `moved` is kept when the connection was made again or is closed: what was asked before is answered by nobody, and the client says nothing. */
type Held = { nats: NatsConnection; credential: Credential; renewAt: number; moved: PromiseWithResolvers<null> };

const open = async (credential: Credential): Promise<NatsConnection> =>
  connect({
    servers: credential.url.split(',').map((url) => new URL(url).host),
    ...(credential.url.includes('tls://') && { tls: {} }),
    name: `runner ${credential.id}`,
    authenticator: jwtAuthenticator(credential.jwt, new TextEncoder().encode(credential.seed)),
    inboxPrefix: inboxOf(credential.id),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    pingInterval: 10_000,
  });

const renewTime = ({ expires_at }: Credential): number => Date.now() + RENEW_AT * (Date.parse(expires_at) - Date.now());

/** The server's words instead of a message: 404 and 408 say that there is none. */
const statusOf = (message: Msg): number => (message.data.length === 0 && message.headers?.code) || 0;

const watch = async (held: Held): Promise<void> => {
  for await (const { type } of held.nats.status()) {
    if (type !== Events.Reconnect) continue;
    held.moved.resolve(null);
    held.moved = Promise.withResolvers();
  }
};

const hold = async (credential: Credential): Promise<Held> => {
  const nats = await open(credential).catch((error: Error) => {
    throw new Refusal('unavailable', `the broker at ${credential.url} does not let us in: ${error.message}`);
  });
  const held = { nats, credential, renewAt: renewTime(credential), moved: Promise.withResolvers<null>() };
  void watch(held);
  void nats.closed().then(() => held.moved.resolve(null));
  return held;
};

/**
 * A runner's way to the broker, with credentials that are renewed before they expire and after they were refused.
 * `issue` gets new ones and `patient` repeats what fails in passing; what it throws in the end, ends the runner.
 */
export const messageConsumer = (issue: () => Promise<Credential>, patient: <T>(work: () => Promise<T>) => Promise<T>) => {
  let held: Held | null = null;
  let renewing: Promise<Held> | null = null;
  let closed = false;
  let misses = 0;

  /** Pulls that are under way on the old connection end by themselves. */
  const retire = (old: Held): void => void setTimeout(() => void old.nats.close(), 2 * PULL_MS).unref();

  const renew = async (): Promise<Held> => {
    const old = held;
    const fresh = await patient(async () => hold(await issue()));
    held = fresh;
    misses = 0;
    if (old) retire(old);
    if (closed) await fresh.nats.close();
    return fresh;
  };

  const connection = async (): Promise<Held> => {
    if (held && !held.nats.isClosed() && Date.now() < held.renewAt) return held;
    renewing ??= renew().finally(() => {
      renewing = null;
    });
    const usable = held && !held.nats.isClosed() && Date.parse(held.credential.expires_at) > Date.now() ? held : null;
    if (!usable) return renewing;
    renewing.catch(() => {
      usable.renewAt = Date.now() + RENEW_RETRY_MS;
    });
    return usable;
  };

  const request = async (subject: string, data: string, timeout: number): Promise<Msg> =>
    (await connection()).nats.request(subject, data, { timeout });

  /** Again and again: the server forgot the consumer, or us; the next credentials make both known again. */
  const lost = async (): Promise<null> => {
    if (held && ++misses > 1) held.renewAt = Math.min(held.renewAt, Date.now() + RENEW_RETRY_MS);
    await sleep(LOST_PAUSE_MS);
    return null;
  };

  return {
    /** The next message of the agent; null where none came in time. @throws what `issue` throws */
    pull: async (): Promise<Msg | null> => {
      const { nats, credential, moved } = await connection();
      const wanted = JSON.stringify({ batch: 1, expires: nanos(PULL_MS) });
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${credential.stream}.${credential.consumer}`;
      // A message comes under its own subject, which a shared inbox would not know.
      const asked = nats.request(subject, wanted, { noMux: true, timeout: PULL_MS + 2_000 }).catch(() => undefined);
      const answer = await Promise.race([asked, moved.promise]);
      if (answer === null) return null;
      if (!answer) return lost();
      const status = statusOf(answer);
      if (status > 0 && status !== 404 && status !== 408) return lost();
      misses = 0;
      return status > 0 ? null : answer;
    },
    /** Tells the server what became of a message, and waits until it knows. @throws where it can't be told */
    settle: async (message: Msg, word: string): Promise<void> => {
      for (let tries = 1; ; tries++) {
        try {
          await request(message.reply!, word, SETTLE_MS);
          return;
        } catch (error) {
          if (tries >= SETTLE_TRIES) throw error;
          await sleep(LOST_PAUSE_MS * tries);
        }
      }
    },
    /** Says that the message is being worked on. */
    working: (message: Msg): void =>
      void connection()
        .then(({ nats }) => nats.publish(message.reply!, '+WPI'))
        .catch(() => {}),
    close: async (): Promise<void> => {
      closed = true;
      await renewing?.catch(() => {});
      await held?.nats.close();
    },
  };
};

export type BrokerLink = ReturnType<typeof messageConsumer>;
