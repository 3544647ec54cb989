import { AckPolicy, DeliverPolicy, type JsMsg, type NatsConnection, nanos, type StoredMsg } from 'nats';
import { z } from 'zod';
import type { AddressedAdvisory } from '../../commands/runners/record-acknowledgements.reactor.ts';
import type { Advisory } from '../../domain/runners/acknowledgement.ts';
import { timeOf } from '../../domain/runners/cloud-event.ts';
import { REPEATED_EVENT } from '../../domain/runners/session-message.ts';
import { ADVISORY_STREAM, manager, PROBE_SUBJECT, STREAM } from './jetstream.ts';
import { isMissingMessage, MESSAGE_NOT_FOUND, nullOnCode } from './jetstream-errors.ts';

/** In milliseconds. A reader without a request for this long has probably ended, and the server deletes its consumer. */
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

/** The last part of the type decides, as in `io.nats.jetstream.metric.v1.consumer_ack`. Undefined if the advisory reports no outcome. */
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

/** `receivedAt` is when the delivery was received; null if the message does not contain it. */
export type ReceivedAdvisory = AddressedAdvisory & { readonly receivedAt: string | null };

/** Searches the stream that runners read. Null if the message is gone. */
const findMessage = async (nats: NatsConnection, sequence: number): Promise<DescribedMessage | null> => {
  const { streams } = await manager(nats);
  const found = await streams.getMessage(STREAM, { seq: sequence }).catch((error: unknown) => {
    if (isMissingMessage(error)) return null;
    throw error;
  });
  const [, tenant, agent] = found?.subject.split('.') ?? [];
  const eventId = found?.header.get(REPEATED_EVENT) || found?.header.get('Nats-Msg-Id');
  const delivery = found?.header.get('Annals-Delivery') ?? '';
  const session = found?.header.get('Annals-Session') ?? '';
  const occurrence = found?.header.get('Annals-Occurrence') ?? '';
  if (!found || !tenant || !agent || !eventId || (!delivery && !session)) return null;
  return { tenant, agent, eventId, delivery, session, occurrence, receivedAt: timeOf(found.data), publishedAt: found.time.toISOString() };
};

/** Null if it reports no outcome (see `outcomes`), is older than the stream that runners read, or its message to an agent is gone. */
const readAdvisory = async (nats: NatsConnection, streamCreatedAt: string, message: StoredAdvisory): Promise<ReceivedAdvisory | null> => {
  const payload = parsePayload(message);
  const outcome = payload && outcomeOf(payload);
  // If the stream was created again, the sequence number belongs to a different message.
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

/** Reads messages in order, the oldest first. Several readers can run at once: each has its own consumer. */
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
    /** When the stream was created: if it is created again, sequence numbers start from 1, so they are unique only with this time. */
    epoch,
    /** Waits up to `ms` milliseconds; null if none arrived. @throws Error if the server no longer knows this reader */
    next: async (ms: number): Promise<AdvisoryBatch | null> => {
      const received: JsMsg[] = [];
      for await (const message of await consumer.fetch({ max_messages: MAX_BATCH, expires: ms })) received.push(message);
      // After a restart, the server may have lost the consumer. Only `info` throws then, not `fetch`.
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
