import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import { MIN_MAX_PAYLOAD, type OutgoingMessage, relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import { type Backoff, createBackoff } from '../backoff.ts';
import type { Subscription } from '../eventstore/event-log.ts';
import { type ChainedPublisher, createChainedPublisher, SequenceConflict } from '../nats/chained-publisher.ts';
import { ensureInbound, readTip } from '../nats/jetstream.ts';
import { errorReason, isWrongSequence, mayBeStoppedStream } from '../nats/jetstream-errors.ts';
import { expiryCheck, resumePosition } from '../reactors/resume-position.ts';
import { acknowledgedIdsSince } from './acknowledged-ids.ts';
import { publishEvents, type RelayParts } from './publish-events.ts';

/**
 * `state` is `relaying` while the relay follows the log: from the first message that it publishes, or when it has read
 * the log to its end. Until then, a new event would have to wait. It is `waiting` after a service was unavailable or another
 * relay has published first, until the next attempt.
 */
export type RelayStatus = {
  readonly state: 'starting' | 'relaying' | 'waiting' | 'closed';
  readonly position: string | null;
  readonly published: number;
  readonly waiting: number;
  readonly last_error: string | null;
  /** JetStream refuses all messages: after a write error, nats-server can keep a stream stopped until it is restarted. */
  readonly is_stream_stopped: boolean;
};

export type Relay = {
  close: () => Promise<void>;
  status: () => RelayStatus;
  /** Null if this relay is not relaying: another process may have published more. */
  publishedThrough: () => Position | null;
};

const RETRY = { minMs: 250, maxMs: 5_000, jitter: 0.5 };
/** How often a relay checks that no other process has written to the stream that runners read, in milliseconds. */
const CHECK_INTERVAL_MS = 5_000;

type RunningRelay = RelayParts & {
  readonly retry: Backoff;
  state: RelayStatus['state'];
  position: string | null;
  published: number;
  publisher: ChainedPublisher | null;
  subscription: Subscription | null;
  lastError: string | null;
  /** The last sequence number of the stream at the last attempt; null if it could not be read. */
  tipSequence: number | null;
  /** The value of `tipSequence` at the last failure; null after a message is published. */
  failedAtSequence: number | null;
  isStreamStopped: boolean;
  /** Whether the current failure has been logged as a warning; false after a message is published. */
  hasWarned: boolean;
};

const recordPublished = (relay: RunningRelay, batch: readonly OutgoingMessage[]): void => {
  relay.published += batch.length;
  relay.state = 'relaying';
  relay.position = batch.at(-1)!.token;
  relay.retry.reset();
  relay.hasWarned = false;
  relay.lastError = null;
  relay.isStreamStopped = false;
  relay.failedAtSequence = null;
};

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

/** Rejects if the stream's last message is not this relay's: it was purged or created again, or another relay wrote to it. */
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

/** Checks that each message fits, before one that does not stops all others. @throws Error that names the setting */
const assertPayload = ({ info }: NatsConnection): void => {
  if (info && info.max_payload < MIN_MAX_PAYLOAD)
    throw new Error(`max_payload of the message broker is ${info.max_payload}: set it to at least ${MIN_MAX_PAYLOAD} bytes`);
};

/** Starts after the stream's last message, and ends when the signal is aborted. @throws the first failure of a service; SequenceConflict */
const publishUntilFailure = async (relay: RunningRelay, signal: AbortSignal): Promise<void> => {
  const { log, nats } = relay;
  assertPayload(nats);
  await ensureInbound(nats);
  const tip = await readTip(nats);
  if (tip.sequence !== relay.tipSequence) relay.isStreamStopped = false;
  relay.tipSequence = tip.sequence;
  const from = await resumePosition(log, tip, signal);
  const acknowledged = await acknowledgedIdsSince(log, from, signal);
  relay.position = tip.token ?? relay.position;
  // The server may have forgotten the last message's id: let it compare only the sequence number at first.
  const publisher = createChainedPublisher(nats, { sequence: tip.sequence, messageId: null }, (batch) => recordPublished(relay, batch));
  relay.publisher = publisher;
  const publish = publishEvents(relay, publisher, acknowledged);
  const isExpired = tip.token === null ? await expiryCheck(log) : () => false;
  const subscription = log.follow({
    from,
    filter: { eventTypes: relayedEventTypes },
    event: (event) => (isExpired(event) ? undefined : publish(event)),
    caughtUp: () => {
      if (!signal.aborted) relay.state = 'relaying';
    },
  });
  relay.subscription = subscription;
  try {
    const subscriptionFailed = subscription.failure.then((error) => {
      if (error && !signal.aborted) throw error;
    });
    await Promise.race([publisher.failed, subscriptionFailed, watchForConflict(nats, publisher, signal), whenAborted(signal)]);
  } finally {
    await subscription.stop();
    await publisher.idle();
    relay.publisher = null;
    relay.subscription = null;
  }
};

/**
 * Returns whether a failure shows that the stream is stopped. An error about a wrong expected sequence number can also
 * mean that another relay has published first; so it counts only if the end of the stream is the same as at the failure
 * before.
 */
const isStopped = ({ tipSequence, failedAtSequence }: RunningRelay, error: unknown): boolean =>
  error instanceof SequenceConflict || isWrongSequence(error) ? tipSequence === failedAtSequence : mayBeStoppedStream(error);

/** Warns only at the first failure after a published message, and never about a conflict with another relay. */
const backOff = async (relay: RunningRelay, error: unknown, signal: AbortSignal): Promise<void> => {
  relay.state = 'waiting';
  relay.lastError = errorReason(error);
  const isConflict = error instanceof SequenceConflict || isWrongSequence(error);
  relay.isStreamStopped = isStopped(relay, error);
  relay.failedAtSequence = relay.tipSequence;
  relay.logger[isConflict || relay.hasWarned ? 'debug' : 'warn'](
    { error: relay.lastError },
    isConflict ? 'another process wrote to the stream; the relay reads its end again' : 'the relay failed and will try again',
  );
  relay.hasWarned ||= !isConflict;
  await relay.retry.wait(signal);
};

const publishedThrough = ({ state, position, publisher, subscription }: RunningRelay): Position | null => {
  if (state !== 'relaying' || !publisher) return null;
  const published = position === null ? null : parseToken(position);
  const handled = publisher.waiting() === 0 ? (subscription?.position() ?? null) : null;
  if (!published || !handled) return published ?? handled;
  return comparePositions(published, handled) > 0 ? published : handled;
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
 * Starts the relay. It publishes every event of the relayed types to the NATS stream, exactly once and in log order,
 * even if the relay is restarted or several relays run at the same time. It needs no stored state: the last message of
 * the stream contains the log position from which to continue.
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
    subscription: null,
    lastError: null,
    hasWarned: false,
    tipSequence: null,
    failedAtSequence: null,
    isStreamStopped: false,
  };
  const running = run(relay, closing.signal);
  return {
    close: async () => {
      closing.abort();
      await running;
    },
    status: () => {
      const { state, position, published, publisher, lastError, isStreamStopped } = relay;
      return { state, position, published, waiting: publisher?.waiting() ?? 0, last_error: lastError, is_stream_stopped: isStreamStopped };
    },
    publishedThrough: () => publishedThrough(relay),
  };
};
