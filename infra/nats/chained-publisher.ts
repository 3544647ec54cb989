import { headers, type NatsConnection } from 'nats';
import type { OutgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { REPEATED_EVENT, REPEATED_POSITION } from '../../domain/runners/session-message.ts';

/**
 * Must be last in the stream when the next is stored. `messageId` is null if the server may have forgotten it: then only `sequence` counts.
 */
export type ExpectedLastMessage = { sequence: number; messageId: string | null };

const MAX_BATCH_MESSAGES = 512;
const MAX_BATCH_BYTES = 2 * 1_048_576;
const MAX_BATCHES_IN_FLIGHT = 4;
/** If this many messages or bytes are pending, callers of `add` should wait. */
const MAX_PENDING_MESSAGES = 1_024;
const MAX_PENDING_BYTES = 4 * 1_048_576;
const ACK_TIMEOUT_MS = 5_000;

/** Thrown if another process wrote to the stream, or if the server did not store an earlier message of the batch. */
export class SequenceConflict extends Error {}

const headersOf = (message: OutgoingMessage, { sequence, messageId }: ExpectedLastMessage) => {
  const { id, token, delivery, session, repeated, occurrence, traceparent } = message;
  const messageHeaders = headers();
  messageHeaders.set('Nats-Msg-Id', id);
  messageHeaders.set('Annals-Position', token);
  if (delivery !== null) messageHeaders.set('Annals-Delivery', delivery);
  if (session !== undefined) messageHeaders.set('Annals-Session', session);
  if (repeated !== undefined) {
    messageHeaders.set(REPEATED_EVENT, repeated.id);
    messageHeaders.set(REPEATED_POSITION, repeated.token);
  }
  if (occurrence !== undefined) messageHeaders.set('Annals-Occurrence', occurrence);
  if (traceparent !== undefined) messageHeaders.set('traceparent', traceparent);
  messageHeaders.set('Nats-Expected-Last-Sequence', String(sequence));
  // The sequence number alone is not enough: another process may have stored a message with it.
  if (messageId) messageHeaders.set('Nats-Expected-Last-Msg-Id', messageId);
  return messageHeaders;
};

/**
 * Sends a batch of messages. Each message names the message before it, and the server stores it only directly after
 * that one. So the acknowledgement of the last message confirms the whole batch.
 * @throws SequenceConflict, NatsError
 */
const sendBatch = async (nats: NatsConnection, batch: readonly OutgoingMessage[], expected: ExpectedLastMessage): Promise<void> => {
  let previous = expected;
  const lastIndex = batch.length - 1;
  for (const message of batch.slice(0, lastIndex)) {
    nats.publish(message.subject, message.payload, { headers: headersOf(message, previous) });
    previous = { sequence: previous.sequence + 1, messageId: message.id };
  }
  const last = batch[lastIndex]!;
  const ack = await nats.jetstream().publish(last.subject, last.payload, { headers: headersOf(last, previous), timeout: ACK_TIMEOUT_MS });
  if (ack.seq !== previous.sequence + 1) throw new SequenceConflict(`a message was stored as ${ack.seq}, not as ${previous.sequence + 1}`);
};

/** The very first message is sent alone, so that its error shows the cause, and not only that the message before is missing. */
const batchSize = (pending: readonly OutgoingMessage[], { messageId }: ExpectedLastMessage): number => {
  if (messageId === null) return 1;
  let bytes = 0;
  const firstTooMany = pending.findIndex(({ payload }) => {
    bytes += payload.length;
    return bytes > MAX_BATCH_BYTES;
  });
  return Math.min(MAX_BATCH_MESSAGES, firstTooMany === -1 ? pending.length : Math.max(1, firstTooMany));
};

const lastAfter = ({ sequence }: ExpectedLastMessage, batch: readonly OutgoingMessage[]): ExpectedLastMessage => ({
  sequence: sequence + batch.length,
  messageId: batch.at(-1)!.id,
});

type Publisher = {
  readonly nats: NatsConnection;
  readonly onPublished: (batch: readonly OutgoingMessage[]) => void;
  readonly failure: PromiseWithResolvers<never>;
  /** The message that will be the last one in the stream after all messages that were sent are stored. */
  expectedLast: ExpectedLastMessage;
  pending: OutgoingMessage[];
  pendingBytes: number;
  messagesInFlight: number;
  /** The promise of the running `sendPending`; null if none is running. */
  sending: Promise<void> | null;
  /** Callers of `add` wait for it while too many messages are pending; otherwise null. */
  capacity: PromiseWithResolvers<void> | null;
  hasFailed: boolean;
};

const hasFullBatch = ({ pending, pendingBytes }: Publisher): boolean =>
  pending.length >= MAX_BATCH_MESSAGES || pendingBytes >= MAX_BATCH_BYTES;

const releaseCapacity = (publisher: Publisher): void => {
  publisher.capacity?.resolve();
  publisher.capacity = null;
};

/** Resolves when the batch is acknowledged. */
const sendNextBatch = (publisher: Publisher): Promise<void> => {
  const { nats, pending, expectedLast } = publisher;
  const batch = pending.slice(0, batchSize(pending, expectedLast));
  publisher.expectedLast = lastAfter(expectedLast, batch);
  publisher.pending = pending.slice(batch.length);
  publisher.pendingBytes -= batch.reduce((sum, { payload }) => sum + payload.length, 0);
  publisher.messagesInFlight += batch.length;
  if (!hasFullBatch(publisher)) releaseCapacity(publisher);
  const acknowledged = sendBatch(nats, batch, expectedLast).then(() => {
    publisher.messagesInFlight -= batch.length;
    publisher.onPublished(batch);
  });
  acknowledged.catch(() => {});
  return acknowledged;
};

/** While an earlier batch is not acknowledged, sends the next one only if it is full. */
const sendPending = async (publisher: Publisher): Promise<void> => {
  // Wait until all messages of this turn of the event loop are added, to send them in one batch.
  await new Promise((resolve) => setImmediate(resolve));
  const inFlight: Promise<void>[] = [];
  for (;;) {
    while (publisher.pending.length > 0 && (inFlight.length === 0 || (inFlight.length < MAX_BATCHES_IN_FLIGHT && hasFullBatch(publisher))))
      inFlight.push(sendNextBatch(publisher));
    if (inFlight.length === 0) return;
    await inFlight.shift();
  }
};

const startSending = (publisher: Publisher): Promise<void> => {
  const sending = sendPending(publisher).finally(() => {
    publisher.sending = null;
  });
  sending.catch((error: unknown) => {
    publisher.hasFailed = true;
    publisher.failure.reject(error);
    publisher.capacity?.reject(error);
  });
  return sending;
};

const add = (publisher: Publisher, message: OutgoingMessage): void | Promise<void> => {
  if (publisher.hasFailed) return publisher.failure.promise;
  publisher.pending.push(message);
  publisher.pendingBytes += message.payload.length;
  publisher.sending ??= startSending(publisher);
  if (publisher.pending.length < MAX_PENDING_MESSAGES && publisher.pendingBytes < MAX_PENDING_BYTES) return;
  publisher.capacity ??= Promise.withResolvers();
  return publisher.capacity.promise;
};

/**
 * Creates a publisher, which publishes messages after the message `expectedLast`, in the order in which they are added.
 * After an error, it cannot publish any more. The server then rejects the batches that were already sent, because they
 * follow messages that were not stored.
 */
export const createChainedPublisher = (
  nats: NatsConnection,
  expectedLast: ExpectedLastMessage,
  onPublished: (batch: readonly OutgoingMessage[]) => void,
) => {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const publisher: Publisher = {
    nats,
    onPublished,
    failure,
    expectedLast,
    pending: [],
    pendingBytes: 0,
    messagesInFlight: 0,
    sending: null,
    capacity: null,
    hasFailed: false,
  };
  return {
    /** Rejects with the first error. Never resolves. */
    failed: failure.promise,
    expectedLast: (): ExpectedLastMessage => publisher.expectedLast,
    waiting: (): number => publisher.pending.length + publisher.messagesInFlight,
    /** Returns a promise if too many messages are pending; the caller should then wait for it. */
    add: (message: OutgoingMessage): void | Promise<void> => add(publisher, message),
    /** Resolves when all messages added so far are acknowledged, or when one has failed. */
    idle: async (): Promise<void> => void (await publisher.sending?.catch(() => {})),
  };
};

export type ChainedPublisher = ReturnType<typeof createChainedPublisher>;
