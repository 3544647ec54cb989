import { setTimeout as sleep } from 'node:timers/promises';
import { type Msg, nanos } from 'nats';
import { type CredentialSource, keepConnected, RENEWAL_RETRY_DELAY_MS } from './broker-connection.ts';

/** A pull waits this long for a message; the next one may use newer credentials. */
const PULL_TIMEOUT_MS = 5_000;
const SETTLE_TIMEOUT_MS = 5_000;
const MAX_SETTLE_ATTEMPTS = 4;
const RETRY_DELAY_MS = 500;

/** The status that the server sends in place of a message, else 0. 404 and 408 mean that there is no message. */
const statusOf = (message: Msg): number => (message.data.length === 0 && message.headers?.code) || 0;

/** Pulls the messages of one agent from the broker and acknowledges them. */
export const messageConsumer = (issue: CredentialSource['issue'], retry: CredentialSource['retry']) => {
  let misses = 0;
  const resetMisses = (): void => {
    misses = 0;
  };
  const connection = keepConnected({ issue, retry, onRenewed: resetMisses, lingerMs: 2 * PULL_TIMEOUT_MS });

  /** If it happens again, the server has lost the consumer or our user. The next credentials make both known to it. */
  const missed = async (): Promise<null> => {
    const latest = connection.latest();
    if (latest && ++misses > 1) latest.renewAt = Math.min(latest.renewAt, Date.now() + RENEWAL_RETRY_DELAY_MS);
    await sleep(RETRY_DELAY_MS);
    return null;
  };

  return {
    /** The next message of the agent; null if none arrived in time. @throws what `issue` throws */
    pull: async (): Promise<Msg | null> => {
      const { nats, credential, interrupted } = await connection.get();
      const request = JSON.stringify({ batch: 1, expires: nanos(PULL_TIMEOUT_MS) });
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${credential.stream}.${credential.consumer}`;
      // Without the shared inbox, which would not recognise a message that arrives under its own subject.
      const response = nats.request(subject, request, { noMux: true, timeout: PULL_TIMEOUT_MS + 2_000 }).catch(() => undefined);
      const answer = await Promise.race([response, interrupted.promise]);
      if (answer === null) return null;
      if (!answer) return missed();
      const status = statusOf(answer);
      if (status > 0 && status !== 404 && status !== 408) return missed();
      resetMisses();
      return status > 0 ? null : answer;
    },
    /** Sends the acknowledgement of a message, such as `+ACK`, and waits until the server has it. @throws if it cannot be delivered */
    settle: async (message: Msg, acknowledgement: string): Promise<void> => {
      for (let attempt = 1; ; attempt++) {
        try {
          const { nats } = await connection.get();
          await nats.request(message.reply!, acknowledgement, { timeout: SETTLE_TIMEOUT_MS });
          return;
        } catch (error) {
          if (attempt >= MAX_SETTLE_ATTEMPTS) throw error;
          await sleep(RETRY_DELAY_MS * attempt);
        }
      }
    },
    /** Tells the server that the message is still being processed, so that it is not delivered again. */
    reportProgress: (message: Msg): void =>
      void connection
        .get()
        .then(({ nats }) => nats.publish(message.reply!, '+WPI'))
        .catch(() => {}),
    close: connection.close,
  };
};

export type MessageConsumer = ReturnType<typeof messageConsumer>;
