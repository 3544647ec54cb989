import { setTimeout as sleep } from 'node:timers/promises';
import { createInbox, type Msg, nanos, type Subscription } from 'nats';
import { inboxOf } from '../../domain/runners/runner-credential.ts';
import type { BrokerConnection } from './broker-connection.ts';

/** The timeout of one request, in milliseconds. Renewed credentials are used from the next request on. */
export const PULL_TIMEOUT_MS = 5_000;
/** The time in milliseconds for which a request waits for its answer. Without a message, the server answers it earlier. */
const ANSWER_TIMEOUT_MS = PULL_TIMEOUT_MS + 2_000;
const LATE_ANSWER_MS = 500;
/** The time to wait for the broker's confirmation that it sends nothing more, in milliseconds. */
const DRAIN_TIMEOUT_MS = 1_000;

/** Undefined without an answer in time; null if the connection was lost, or no more messages are wanted. */
export type Answer = Msg | null | undefined;

/**
 * Requests for messages. The broker counts a message as delivered as soon as it has sent the message. If nothing received
 * it here, it would be delivered again only after the acknowledgement timeout. So a request keeps its subscription as long as
 * the broker may answer it, even after `request` has returned.
 */
export type MessageRequests = {
  /** `onLate` gets a message that arrives after the answer. */
  readonly request: (connection: BrokerConnection, onLate: (message: Msg) => void) => Promise<Answer>;
  /** All requests end. Resolves when every message that the broker has sent until now has arrived. */
  readonly stop: () => Promise<void>;
};

type OpenRequest = { readonly subscription: Subscription; readonly finish: (answer: Answer) => boolean };

type State = { readonly open: Set<OpenRequest>; stopped: Promise<void> | null };

/**
 * Returns the status code that the server sent instead of a message; 0 if it sent a message. 404 and 408 mean that
 * there is no message yet. A stored message always has a reply subject, even if it contains nothing but a status, which
 * a runner can make the server store.
 */
export const statusOf = ({ data, reply, headers }: Msg): number => (data.length === 0 && !reply && headers?.code) || 0;

/**
 * Waits until a request has got no answer in time. A process that was stalled finds both the end of the time limit and an
 * answer that arrived meanwhile. So it waits a little longer.
 */
const untilUnanswered = async (answered: AbortSignal): Promise<void> => {
  for (const ms of [ANSWER_TIMEOUT_MS, LATE_ANSWER_MS]) await sleep(ms, undefined, { signal: answered }).catch(() => {});
};

/**
 * `request` of the NATS client finds the request of an answer by the answer's subject, but a stream message keeps its own
 * subject; with an inbox for each request, its timer would keep a process alive after the connection was closed.
 */
const request = (state: State, connection: BrokerConnection, onLate: (message: Msg) => void): Promise<Answer> =>
  new Promise((resolve) => {
    const { nats, credential, onInterrupted } = connection;
    const answered = new AbortController();
    const finish: OpenRequest['finish'] = (answer) => {
      if (answered.signal.aborted) return false;
      answered.abort();
      resolve(answer);
      return true;
    };
    const forget = (): void => {
      state.open.delete(opened);
      onInterrupted.delete(interrupt);
    };
    const interrupt = (): void => {
      forget();
      opened.subscription.unsubscribe();
      finish(null);
    };
    const receive = (error: Error | null, message: Msg): void => {
      forget();
      if (!finish(error ? undefined : message) && !error && statusOf(message) === 0) onLate(message);
    };
    const inbox = createInbox(inboxOf(credential.id));
    let opened: OpenRequest;
    try {
      opened = { subscription: nats.subscribe(inbox, { max: 1, callback: receive }), finish };
      nats.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${credential.stream}.${credential.consumer}`,
        JSON.stringify({ batch: 1, expires: nanos(PULL_TIMEOUT_MS) }),
        { reply: inbox },
      );
    } catch {
      return resolve(undefined);
    }
    state.open.add(opened);
    onInterrupted.add(interrupt);
    void untilUnanswered(answered.signal).then(() => finish(undefined));
  });

const stop = async ({ open }: State): Promise<void> => {
  for (const { finish } of open) finish(null);
  const drained = Promise.allSettled([...open].map(({ subscription }) => subscription.drain()));
  await Promise.race([drained, sleep(DRAIN_TIMEOUT_MS, undefined, { ref: false })]);
};

export const createMessageRequests = (): MessageRequests => {
  const state: State = { open: new Set(), stopped: null };
  return {
    request: async (connection, onLate) => (state.stopped ? null : request(state, connection, onLate)),
    stop: () => {
      state.stopped ??= stop(state);
      return state.stopped;
    },
  };
};
