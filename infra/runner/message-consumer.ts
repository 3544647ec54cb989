import { setTimeout as sleep } from 'node:timers/promises';
import { type Msg, type NatsConnection, nanos, type Subscription } from 'nats';
import { Refusal } from '../../domain/refusal.ts';
import { ACK_WAIT_MS } from '../../domain/runners/runner-credential.ts';
import { type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import {
  type BrokerConnection,
  type CredentialSource,
  keepConnected,
  RENEWAL_RETRY_DELAY_MS,
  type RenewingConnection,
  requestOver,
  untilRestored,
} from './broker-connection.ts';
import { createMessageRequests, PULL_TIMEOUT_MS, statusOf } from './message-requests.ts';
import { createOutageReport } from './outage-report.ts';

/** The interval of progress reports. After a lost one, the next one is still in time. */
export const PROGRESS_INTERVAL_MS = ACK_WAIT_MS / 3;
const SETTLE_TIMEOUT_MS = 5_000;
const MAX_SETTLE_ATTEMPTS = 4;
const RETRY_DELAY_MS = 500;
/** A listener checks this often whether the connection was renewed. */
const RESUBSCRIBE_INTERVAL_MS = 1_000;
const LISTEN_TIMEOUT_MS = 1_000;

/** After this negative acknowledgement, the server waits for the delay and then delivers the message again. */
export const negativeAck = (delayMs: number): string => `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`;

/** Reports to the server that this runner works on messages, or keeps them. What is sent over a lost connection may be dropped. */
const progressReports = ({ get, latest }: RenewingConnection) => {
  /** The reply subjects of the messages to report. In an outage, each message has one report, not one for each interval. */
  const due = new Set<string>();
  let isReporting = false;
  let hasEnded = false;

  /** Waits until the latest connection is not lost: it may be re-established, or replaced. @throws the errors of `get` */
  const untilConnected = async (): Promise<NatsConnection> => {
    while (!hasEnded) {
      const current = await get();
      if (!current.lost) return current.nats;
      await untilRestored(current, RETRY_DELAY_MS).catch(() => {});
    }
    throw new Error('the connection to the broker is closed');
  };

  const reportDue = async (): Promise<void> => {
    try {
      const nats = await untilConnected();
      for (const reply of due) nats.publish(reply, '+WPI');
      due.clear();
    } finally {
      isReporting = false;
    }
  };

  return {
    /** Restarts the server's acknowledgement timeout; after a lost connection, as soon as it is back. */
    report: (message: Msg): void => {
      due.add(message.reply!);
      if (isReporting) return;
      isReporting = true;
      void reportDue().catch(() => {});
    },
    /**
     * The server waits `delayMs` before it delivers again. This runner keeps the message; `report` restores the timeout.
     * Not sent while the connection is lost: when it is back, another runner may have the message.
     */
    postpone: (message: Msg, delayMs: number): void => {
      const current = latest();
      if (hasEnded || !current || current.lost || current.nats.isClosed()) return;
      current.nats.publish(message.reply!, negativeAck(delayMs));
    },
    forget: (message: Msg): void => void due.delete(message.reply!),
    end: (): void => {
      hasEnded = true;
    },
  };
};

/** Creates the consumer that pulls the messages of one agent from the broker, and acknowledges them. */
export const messageConsumer = (source: Pick<CredentialSource, 'issue' | 'retry' | 'outage'>) => {
  let misses = 0;
  const resetMisses = (): void => {
    misses = 0;
  };
  const connection = keepConnected({ ...source, onRenewed: resetMisses, lingerMs: 2 * PULL_TIMEOUT_MS });
  const requests = createMessageRequests();
  const progress = progressReports(connection);

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

  /** @throws Error if the connection is not re-established in time, or is lost before the answer; NatsError */
  const ask = async (subject: string, data: Uint8Array | string): Promise<Msg> => {
    const current = await connection.get();
    await untilRestored(current, SETTLE_TIMEOUT_MS);
    return requestOver(current, (nats) => nats.request(subject, data, { timeout: SETTLE_TIMEOUT_MS }));
  };

  const pullOver = async (current: BrokerConnection, onLate: (message: Msg) => void): Promise<Msg | null> => {
    const answer = await requests.request(current, onLate);
    if (answer === null) return null;
    if (!answer) return missed();
    const status = statusOf(answer);
    if (status > 0 && status !== 404 && status !== 408) return missed();
    resetMisses();
    return status > 0 ? null : answer;
  };

  return {
    /** Null if no message arrives in time. `onLate` gets a message that arrives afterwards. @throws the errors of `issue` */
    pull: async (onLate: (message: Msg) => void): Promise<Msg | null> => {
      const current = await connection.get();
      if (!current.lost) return pullOver(current, onLate);
      await untilRestored(current, PULL_TIMEOUT_MS).catch(() => {});
      return null;
    },
    /** Pulls end, and get no more messages. Resolves when every message that the broker has sent until now was received. */
    stopPulls: requests.stop,
    /** Sends for example `+ACK`, and waits for the server's confirmation. @throws Error if the acknowledgement cannot be sent */
    settle: async (message: Msg, acknowledgement: string): Promise<void> => {
      progress.forget(message);
      for (let attempt = 1; ; attempt++) {
        try {
          await ask(message.reply!, acknowledgement);
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
          const { error } = (await ask(subject, message)).json<{ error?: { description: string } }>();
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
    reportProgress: progress.report,
    postpone: progress.postpone,
    close: (): Promise<void> => {
      progress.end();
      return connection.close();
    },
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
