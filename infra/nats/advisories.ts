import { AckPolicy, DeliverPolicy, type JsMsg, type NatsConnection, nanos, type StoredMsg } from 'nats';
import { z } from 'zod';
import type { AddressedAdvisory } from '../../commands/runners/record-acknowledgements.reactor.ts';
import type { Advisory } from '../../domain/runners/acknowledgement.ts';
import { timeOf } from '../../domain/runners/cloud-event.ts';
import { ADVISORY_STREAM, manager, PROBE_SUBJECT, STREAM } from './jetstream.ts';
import { isMissingMessage, MESSAGE_NOT_FOUND, nullOnCode } from './jetstream-errors.ts';

/**
 * If a reader has sent no request for this long (milliseconds), the server deletes the reader's consumer. The reader
 * has probably ended.
 */
const INACTIVE_THRESHOLD_MS = 60_000;
const PROBE_TIMEOUT_MS = 5_000;
const MAX_BATCH = 4_000;
const MAX_PARALLEL_LOOKUPS = 64;

const AdvisoryPayload = z.object({ type: z.string(), timestamp: z.string(), stream_seq: z.number(), deliveries: z.number() });
type AdvisoryPayload = z.output<typeof AdvisoryPayload>;

const outcomes: Readonly<Record<string, Advisory['outcome']>> = {
  consumer_ack: 'acknowledged',
  nak: 'failed',
  max_deliver: 'max_deliveries',
  terminated: 'terminated',
};

/**
 * Returns the outcome that an advisory reports for a delivery; undefined if the advisory reports something else. The
 * outcome depends on the last part of the advisory's type, for example `consumer_ack` in
 * `io.nats.jetstream.metric.v1.consumer_ack`.
 */
const outcomeOf = ({ type }: AdvisoryPayload): Advisory['outcome'] | undefined => outcomes[type.split('.').at(-1) ?? ''];

type StoredAdvisory = Pick<JsMsg | StoredMsg, 'seq' | 'string'>;

const parsePayload = (message: StoredAdvisory): AdvisoryPayload | null => {
  try {
    return AdvisoryPayload.safeParse(JSON.parse(message.string())).data ?? null;
  } catch {
    return null;
  }
};

type DescribedMessage = {
  readonly tenant: string;
  readonly agent: string;
  readonly eventId: string;
  readonly delivery: string;
  readonly session: string;
  readonly occurrence: string;
  readonly receivedAt: string | null;
  readonly publishedAt: string;
};

/**
 * An advisory. `receivedAt` is the time at which the delivery was received; null if the message does not contain it.
 */
export type ReceivedAdvisory = AddressedAdvisory & { readonly receivedAt: string | null };

/**
 * Returns the message to which an advisory refers, from the stream that runners read; null if the stream no longer
 * contains it.
 */
const findMessage = async (nats: NatsConnection, sequence: number): Promise<DescribedMessage | null> => {
  const { streams } = await manager(nats);
  const found = await streams.getMessage(STREAM, { seq: sequence }).catch((error: unknown) => {
    if (isMissingMessage(error)) return null;
    throw error;
  });
  const [, tenant, agent] = found?.subject.split('.') ?? [];
  const eventId = found?.header.get('Nats-Msg-Id');
  const delivery = found?.header.get('Annals-Delivery') ?? '';
  const session = found?.header.get('Annals-Session') ?? '';
  const occurrence = found?.header.get('Annals-Occurrence') ?? '';
  if (!found || !tenant || !agent || !eventId || (!delivery && !session)) return null;
  return { tenant, agent, eventId, delivery, session, occurrence, receivedAt: timeOf(found.data), publishedAt: found.time.toISOString() };
};

/**
 * Reads an advisory from a message of the advisory stream, and finds the agent that the advisory concerns. Returns null
 * if it reports no outcome (see `outcomes`), if it is older than the stream that runners read, or if the message to an
 * agent that it refers to no longer exists.
 */
const readAdvisory = async (nats: NatsConnection, streamCreatedAt: string, message: StoredAdvisory): Promise<ReceivedAdvisory | null> => {
  const payload = parsePayload(message);
  const outcome = payload && outcomeOf(payload);
  // If the stream was created again after the advisory, the sequence number in the advisory now belongs to a different
  // message.
  if (!payload || !outcome || Date.parse(payload.timestamp) < Date.parse(streamCreatedAt)) return null;
  const found = await findMessage(nats, payload.stream_seq);
  if (!found) return null;
  const { tenant, agent, eventId, delivery, session, occurrence, receivedAt, publishedAt } = found;
  const at = new Date(payload.timestamp).toISOString();
  const settled = { delivery_id: delivery, event_id: eventId, at, attempts: payload.deliveries, published_at: publishedAt };
  const ids = { ...(occurrence !== '' && { occurrence_id: occurrence }), ...(session !== '' && { session_id: session }) };
  const advisory = { ...settled, ...ids, sequence: message.seq, outcome };
  return { tenant, agent, advisory, receivedAt };
};

const readAdvisories = async (nats: NatsConnection, messages: readonly StoredAdvisory[]): Promise<ReceivedAdvisory[]> => {
  const { streams } = await manager(nats);
  const { created } = await streams.info(STREAM);
  const advisories: ReceivedAdvisory[] = [];
  for (let at = 0; at < messages.length; at += MAX_PARALLEL_LOOKUPS) {
    const chunk = messages.slice(at, at + MAX_PARALLEL_LOOKUPS);
    const found = await Promise.all(chunk.map((message) => readAdvisory(nats, created, message)));
    advisories.push(...found.filter((advisory) => advisory !== null));
  }
  return advisories;
};

/**
 * Adds the messages of the advisory stream from `first` to `last` that the server has sent and the client has not
 * received. This happens if a message arrives when a request for messages ends. The server does not send it again,
 * because this consumer acknowledges nothing.
 */
const withLost = async (
  nats: NatsConnection,
  received: readonly StoredAdvisory[],
  first: number,
  last: number,
): Promise<StoredAdvisory[]> => {
  if (received.length === last - first + 1) return [...received];
  const { streams } = await manager(nats);
  const { state } = await streams.info(ADVISORY_STREAM);
  const known = new Set(received.map(({ seq }) => seq));
  const messages: StoredAdvisory[] = [...received];
  for (let seq = Math.max(first, state.first_seq); seq <= last; seq++) {
    const lost = known.has(seq) ? null : await nullOnCode(streams.getMessage(ADVISORY_STREAM, { seq }), MESSAGE_NOT_FOUND);
    if (lost) messages.push(lost);
  }
  return messages.sort((a, b) => a.seq - b.seq);
};

export type AdvisoryBatch = { readonly lastSequence: number; readonly advisories: readonly ReceivedAdvisory[] };

/**
 * Opens a reader of the advisory stream, which reads the messages in order, starting with the oldest. Several readers
 * can run at the same time, because each has its own consumer.
 */
export const openAdvisories = async (nats: NatsConnection) => {
  const { streams, consumers } = await manager(nats);
  const { created: epoch, state } = await streams.info(ADVISORY_STREAM);
  // Sequence numbers start with 1. For a stream that never had a message, the server reports 0 as the first one.
  let nextSequence = Math.max(1, state.first_seq);
  const { name } = await consumers.add(ADVISORY_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    inactive_threshold: nanos(INACTIVE_THRESHOLD_MS),
    mem_storage: true,
    num_replicas: 1,
  });
  const consumer = await nats.jetstream().consumers.get(ADVISORY_STREAM, name);
  return {
    /**
     * The time at which the advisory stream was created. Sequence numbers are unique only together with this time,
     * because they start from 1 again if the stream is deleted and created again.
     */
    epoch,
    /**
     * Waits up to `ms` milliseconds for messages.
     * @returns null if none arrived
     * @throws Error if the server no longer knows this reader
     */
    next: async (ms: number): Promise<AdvisoryBatch | null> => {
      const received: JsMsg[] = [];
      for await (const message of await consumer.fetch({ max_messages: MAX_BATCH, expires: ms })) received.push(message);
      // After a restart, the server may have lost the consumer. `fetch` does not report that, but `info` throws in this
      // case.
      const lastSequence = received.at(-1)?.seq ?? (await consumers.info(ADVISORY_STREAM, name)).delivered.stream_seq;
      const messages = await withLost(nats, received, nextSequence, lastSequence);
      nextSequence = Math.max(nextSequence, lastSequence + 1);
      return messages.length === 0 ? null : { lastSequence, advisories: await readAdvisories(nats, messages) };
    },
    /**
     * Checks that the server can store advisories, by storing an empty message, which readers ignore. This is needed
     * because the server does not report that it cannot store an advisory, for example after a write error.
     * @throws NatsError if the server cannot store the message
     */
    probe: (): Promise<unknown> => nats.jetstream().publish(PROBE_SUBJECT, '', { timeout: PROBE_TIMEOUT_MS }),
    /** Deletes the messages of the advisory stream up to and including this sequence. */
    purge: (lastSequence: number): Promise<unknown> => streams.purge(ADVISORY_STREAM, { seq: lastSequence + 1 }),
    close: (): Promise<unknown> => consumers.delete(ADVISORY_STREAM, name).catch(() => {}),
  };
};
