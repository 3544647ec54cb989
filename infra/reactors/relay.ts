import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { inlineLimit, type OutgoingMessage, outgoingMessage, relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import type { Recorded } from '../../domain/event.ts';
import { type Backoff, createBackoff } from '../backoff.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type ChainedPublisher, createChainedPublisher, SequenceConflict } from '../nats/chained-publisher.ts';
import { ensureInbound, readTip } from '../nats/jetstream.ts';
import { errorReason, isWrongSequence } from '../nats/jetstream-errors.ts';
import { acknowledgedIdsSince, type IdSet } from './acknowledged-ids.ts';
import { resumePosition } from './resume-position.ts';

/**
 * `relaying`: follows the log. `waiting`: a service is unavailable, or another relay is ahead; the relay tries again.
 */
export type RelayStatus = {
  readonly state: 'starting' | 'relaying' | 'waiting' | 'closed';
  readonly position: string | null;
  readonly published: number;
  readonly waiting: number;
  readonly last_error: string | null;
};

export type Relay = { close: () => Promise<void>; status: () => RelayStatus };

export type RelayParts = { log: Log; nats: NatsConnection; logger: Logger; publicUrl: string };

const RETRY = { minMs: 250, maxMs: 5_000, jitter: 0.5 };
/** How often an idle relay checks that no other process has written to the stream. */
const CHECK_INTERVAL_MS = 5_000;
/** The payload limit of a NATS server that announces none. */
const DEFAULT_MAX_PAYLOAD = 1_048_576;

type RunningRelay = RelayParts & {
  readonly retry: Backoff;
  state: RelayStatus['state'];
  position: string | null;
  published: number;
  publisher: ChainedPublisher | null;
  lastError: string | null;
  /** Whether a warning about the current failure has been logged. It is reset by the next published message. */
  hasWarned: boolean;
};

const recordPublished = (relay: RunningRelay, batch: readonly OutgoingMessage[]): void => {
  relay.published += batch.length;
  relay.position = batch.at(-1)!.token;
  relay.retry.reset();
  relay.hasWarned = false;
  relay.lastError = null;
};

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

/**
 * Rejects if the stream no longer ends where this relay left it: it was purged, created again, or another relay wrote
 * to it.
 */
const watchForConflict = async (nats: NatsConnection, publisher: ChainedPublisher, signal: AbortSignal): Promise<never> => {
  for (;;) {
    await sleep(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
    if (publisher.waiting() > 0) continue;
    const { sequence } = await readTip(nats);
    if (publisher.waiting() === 0 && sequence !== publisher.expectedLast().sequence)
      throw new SequenceConflict(`the stream ends at sequence ${sequence}, which this relay did not write`);
  }
};

/**
 * Handles the events of the subscription. An event that cannot be encoded is logged and skipped, so that it blocks no
 * other.
 */
const publishEvents = ({ nats, logger, publicUrl }: RelayParts, publisher: ChainedPublisher, acknowledged: IdSet) => {
  const maxBodyBytes = inlineLimit(nats.info?.max_payload ?? DEFAULT_MAX_PAYLOAD);
  return (event: Recorded): void | Promise<void> => {
    if (acknowledged.has(event.event_id)) return;
    let message: OutgoingMessage;
    try {
      message = outgoingMessage(event, publicUrl, maxBodyBytes);
    } catch (error) {
      return logger.error({ error: errorReason(error), event: event.event_id }, 'an event cannot be encoded as a message and is skipped');
    }
    return publisher.add(message);
  };
};

/**
 * Publishes from the stream's end on. Resolves when the signal is aborted. @throws the first failure of a service,
 * SequenceConflict
 */
const publishUntilFailure = async (relay: RunningRelay, signal: AbortSignal): Promise<void> => {
  const { log, nats } = relay;
  await ensureInbound(nats);
  const tip = await readTip(nats);
  const from = await resumePosition(log, tip, signal);
  const acknowledged = await acknowledgedIdsSince(log, from, signal);
  relay.position = tip.token ?? relay.position;
  // The server forgets message ids after a while, so the first message is checked by the sequence alone, which was just
  // read.
  const publisher = createChainedPublisher(nats, { sequence: tip.sequence, messageId: null }, (batch) => recordPublished(relay, batch));
  relay.publisher = publisher;
  const subscription = log.follow({
    from,
    filter: { eventTypes: relayedEventTypes },
    event: publishEvents(relay, publisher, acknowledged),
  });
  relay.state = 'relaying';
  try {
    const subscriptionFailed = subscription.failure.then((error) => {
      if (error && !signal.aborted) throw error;
    });
    await Promise.race([publisher.failed, subscriptionFailed, watchForConflict(nats, publisher, signal), whenAborted(signal)]);
  } finally {
    await subscription.stop();
    await publisher.idle();
    relay.publisher = null;
  }
};

/**
 * Logs the failure and waits. Only the first failure since the last message is a warning; losing a race to another
 * relay is none.
 */
const backOff = async (relay: RunningRelay, error: unknown, signal: AbortSignal): Promise<void> => {
  relay.state = 'waiting';
  relay.lastError = errorReason(error);
  const isConflict = error instanceof SequenceConflict || isWrongSequence(error);
  relay.logger[isConflict || relay.hasWarned ? 'debug' : 'warn'](
    { error: relay.lastError },
    isConflict ? 'another process wrote to the stream; the relay reads its end again' : 'the relay failed and will try again',
  );
  relay.hasWarned ||= !isConflict;
  await relay.retry.wait(signal);
};

const run = async (relay: RunningRelay, closing: AbortSignal): Promise<void> => {
  while (!closing.aborted) {
    const attempt = new AbortController();
    try {
      await publishUntilFailure(relay, AbortSignal.any([closing, attempt.signal]));
    } catch (error) {
      if (!closing.aborted) await backOff(relay, error, closing);
    } finally {
      attempt.abort();
    }
  }
  relay.state = 'closed';
};

/**
 * Publishes every relayed event of the log to the stream, once and in log order, however often the relay is restarted
 * and however many run at the same time. The stream's last message holds the position, so the relay stores nothing
 * itself.
 */
export const startRelay = async (parts: RelayParts): Promise<Relay> => {
  const closing = new AbortController();
  const relay: RunningRelay = {
    ...parts,
    retry: createBackoff(RETRY),
    state: 'starting',
    position: null,
    published: 0,
    publisher: null,
    lastError: null,
    hasWarned: false,
  };
  const running = run(relay, closing.signal);
  return {
    close: async () => {
      closing.abort();
      await running;
    },
    status: () => {
      const { state, position, published, publisher, lastError } = relay;
      return { state, position, published, waiting: publisher?.waiting() ?? 0, last_error: lastError };
    },
  };
};
