import { setTimeout as sleep } from 'node:timers/promises';
import { createInbox, type Msg, type NatsConnection, nanos, type Subscription } from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { inboxOf } from '../../domain/runners/runner-credential.ts';
import { type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import { type CredentialSource, keepConnected, RENEWAL_RETRY_DELAY_MS } from './broker-connection.ts';
import { createOutageReport } from './outage-report.ts';

/** In milliseconds, for one request. Renewed credentials are used from the next one on. */
const PULL_TIMEOUT_MS = 5_000;
/** The time in milliseconds for which a request waits for its answer. Without a message, the server answers it earlier. */
const ANSWER_TIMEOUT_MS = PULL_TIMEOUT_MS + 2_000;
const LATE_ANSWER_MS = 500;
const SETTLE_TIMEOUT_MS = 5_000;
const MAX_SETTLE_ATTEMPTS = 4;
const RETRY_DELAY_MS = 500;
/** A listener checks this often whether the connection was renewed. */
const RESUBSCRIBE_INTERVAL_MS = 1_000;
const LISTEN_TIMEOUT_MS = 1_000;

/**
 * Returns the status code that the server sent instead of a message; 0 if it sent a message. 404 and 408 mean that
 * there is no message yet. A stored message always has a reply subject, even if it contains nothing but a status, which
 * a runner can make the server store.
 */
const statusOf = ({ data, reply, headers }: Msg): number => (data.length === 0 && !reply && headers?.code) || 0;

/** After this negative acknowledgement, the server waits for the delay and then delivers the message again. */
export const negativeAck = (delayMs: number): string => `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`;

/**
 * Waits until a request has got no answer in time. A process that was stalled finds both the end of the time limit and an
 * answer that arrived meanwhile. So it waits a little longer: if it dropped the answer, the server would deliver the
 * message again only after the acknowledgement timeout, and later messages would come first.
 */
const untilUnanswered = async (answered: AbortSignal): Promise<void> => {
  for (const ms of [ANSWER_TIMEOUT_MS, LATE_ANSWER_MS]) await sleep(ms, undefined, { signal: answered }).catch(() => {});
};

type MessageRequest = { readonly subject: string; readonly request: string; readonly inbox: string };

/**
 * Requests a message; undefined if the connection is closed. `request` of the NATS client finds the request of an answer by
 * the answer's subject, but a stream message keeps its own subject; with an inbox for each request, its timer would keep a
 * process alive after the connection was closed.
 */
const requestMessage = (nats: NatsConnection, { subject, request, inbox }: MessageRequest, ended: AbortSignal): Promise<Msg | undefined> =>
  new Promise((resolve) => {
    try {
      const subscription = nats.subscribe(inbox, { max: 1, callback: (error, message) => resolve(error ? undefined : message) });
      ended.addEventListener('abort', () => subscription.unsubscribe());
      nats.publish(subject, request, { reply: inbox });
    } catch {
      resolve(undefined);
    }
  });

/** Creates the consumer that pulls the messages of one agent from the broker, and acknowledges them. */
export const messageConsumer = (source: Pick<CredentialSource, 'issue' | 'retry' | 'outage'>) => {
  let misses = 0;
  const resetMisses = (): void => {
    misses = 0;
  };
  const connection = keepConnected({ ...source, onRenewed: resetMisses, lingerMs: 2 * PULL_TIMEOUT_MS });

  /**
   * Handles a pull without a valid answer. After two such pulls in a row, the server may have lost the consumer or the
   * runner's user. So the credentials are renewed soon, which creates both on the server again.
   */
  const missed = async (): Promise<null> => {
    const latest = connection.latest();
    if (latest && ++misses > 1) latest.renewAt = Math.min(latest.renewAt, Date.now() + RENEWAL_RETRY_DELAY_MS);
    await sleep(RETRY_DELAY_MS);
    return null;
  };

  const send = (message: Msg, acknowledgement: string): void =>
    void connection
      .get()
      .then(({ nats }) => nats.publish(message.reply!, acknowledgement))
      .catch(() => {});

  return {
    /** Null if no message arrives in time. @throws the errors of `issue` */
    pull: async (): Promise<Msg | null> => {
      const { nats, credential, interrupted } = await connection.get();
      const request = JSON.stringify({ batch: 1, expires: nanos(PULL_TIMEOUT_MS) });
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${credential.stream}.${credential.consumer}`;
      const ended = new AbortController();
      const response = requestMessage(nats, { subject, request, inbox: createInbox(inboxOf(credential.id)) }, ended.signal);
      const unanswered = untilUnanswered(ended.signal);
      const answer = await Promise.race([response, interrupted.promise, unanswered]).finally(() => ended.abort());
      if (answer === null) return null;
      if (!answer) return missed();
      const status = statusOf(answer);
      if (status > 0 && status !== 404 && status !== 408) return missed();
      resetMisses();
      return status > 0 ? null : answer;
    },
    /** Sends for example `+ACK`, and waits for the server's confirmation. @throws Error if the acknowledgement cannot be sent */
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
    /** Waits until the message is stored. @throws Refusal unavailable if this is not confirmed, even after some attempts */
    publish: async (subject: string, message: Uint8Array): Promise<void> => {
      for (let attempt = 1; ; attempt++) {
        try {
          const { nats } = await connection.get();
          const { error } = (await nats.request(subject, message, { timeout: SETTLE_TIMEOUT_MS })).json<{
            error?: { description: string };
          }>();
          if (!error) return;
          throw new Error(error.description);
        } catch (error) {
          if (attempt >= MAX_SETTLE_ATTEMPTS)
            throw new Refusal('unavailable', `the broker does not store the message: ${(error as Error).message}`);
          await sleep(RETRY_DELAY_MS * attempt);
        }
      }
    },
    /** Keeps the connection and its credentials valid while no message is pulled. */
    keepOpen: (): void => void connection.get().catch(() => {}),
    /**
     * Listens to messages of a subject as they are published, until the returned function is called. Resolves when the
     * server has confirmed the subscription, or after a second. Misses what is published while the connection is down.
     */
    listen: async (subject: string, onMessage: (message: Msg) => void): Promise<() => void> => {
      let current: { readonly nats: NatsConnection; readonly subscription: Subscription } | null = null;
      let isStopped = false;
      const subscribe = async (): Promise<void> => {
        const { nats } = await connection.get();
        if (isStopped || nats === current?.nats) return;
        current?.subscription.unsubscribe();
        current = { nats, subscription: nats.subscribe(subject, { callback: (error, message) => error ?? onMessage(message) }) };
        await nats.flush();
      };
      const keep = (): Promise<void> => subscribe().catch(() => {});
      const timer = setInterval(() => void keep(), RESUBSCRIBE_INTERVAL_MS);
      await Promise.race([keep(), sleep(LISTEN_TIMEOUT_MS, undefined, { ref: false })]);
      return () => {
        isStopped = true;
        clearInterval(timer);
        current?.subscription.unsubscribe();
      };
    },
    /** Restarts the server's acknowledgement timeout. */
    reportProgress: (message: Msg): void => send(message, '+WPI'),
    /** The server waits `delayMs` before it delivers again. This runner keeps the message; `reportProgress` restores the timeout. */
    postpone: (message: Msg, delayMs: number): void => send(message, negativeAck(delayMs)),
    close: connection.close,
  };
};

export type MessageConsumer = ReturnType<typeof messageConsumer>;

/** `report` gets a line when the broker becomes unavailable or available again. */
export const openMessages =
  (api: RunnerApi, agent: RunnerAgent, report: (line: string) => void) =>
  (ending: AbortSignal): MessageConsumer =>
    messageConsumer({
      issue: () => api.credential(agent),
      retry: (work) => retryTransient(work, ending),
      outage: createOutageReport(report, 'connected to the broker again'),
    });
