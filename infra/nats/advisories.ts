import { AckPolicy, DeliverPolicy, type JsMsg, type NatsConnection, nanos } from 'nats';
import { z } from 'zod';
import type { AddressedAdvisory } from '../../commands/runners/record-acknowledgements.reactor.ts';
import type { Advisory } from '../../domain/runners/acknowledgement.ts';
import { ADVISORY_STREAM, manager, STREAM } from './jetstream.ts';
import { isMissingMessage } from './jetstream-errors.ts';

/** After this time without a request the server deletes the consumer of a reader that has ended. */
const INACTIVE_THRESHOLD_MS = 60_000;
const MAX_BATCH = 4_000;
const MAX_PARALLEL_LOOKUPS = 64;

const AdvisoryPayload = z.object({ type: z.string(), timestamp: z.string(), stream_seq: z.number(), deliveries: z.number() });
type AdvisoryPayload = z.output<typeof AdvisoryPayload>;

const outcomes: Readonly<Record<string, Advisory['outcome']>> = {
  consumer_ack: 'acknowledged',
  max_deliver: 'max_deliveries',
  terminated: 'terminated',
};

/** The type of an advisory is a name such as `io.nats.jetstream.metric.v1.consumer_ack`. */
const outcomeOf = ({ type }: AdvisoryPayload): Advisory['outcome'] | undefined => outcomes[type.split('.').at(-1) ?? ''];

const parsePayload = (message: JsMsg): AdvisoryPayload | null => {
  try {
    return AdvisoryPayload.safeParse(JSON.parse(message.string())).data ?? null;
  } catch {
    return null;
  }
};

type DescribedMessage = { readonly tenant: string; readonly agent: string; readonly eventId: string; readonly delivery: string };

/** The message that an advisory is about; null if the stream no longer holds it. */
const findMessage = async (nats: NatsConnection, sequence: number): Promise<DescribedMessage | null> => {
  const { streams } = await manager(nats);
  const found = await streams.getMessage(STREAM, { seq: sequence }).catch((error: unknown) => {
    if (isMissingMessage(error)) return null;
    throw error;
  });
  const [, tenant, agent] = found?.subject.split('.') ?? [];
  const eventId = found?.header.get('Nats-Msg-Id');
  const delivery = found?.header.get('Annals-Delivery');
  return tenant && agent && eventId && delivery ? { tenant, agent, eventId, delivery } : null;
};

/**
 * The advisory in a message and the agent it concerns; null if it is of another kind or its message no longer exists.
 */
const readAdvisory = async (nats: NatsConnection, streamCreatedAt: string, message: JsMsg): Promise<AddressedAdvisory | null> => {
  const payload = parsePayload(message);
  const outcome = payload && outcomeOf(payload);
  // The stream was created again after the advisory: the sequence now belongs to another message.
  if (!payload || !outcome || Date.parse(payload.timestamp) < Date.parse(streamCreatedAt)) return null;
  const found = await findMessage(nats, payload.stream_seq);
  if (!found) return null;
  const { tenant, agent, eventId, delivery } = found;
  const at = new Date(payload.timestamp).toISOString();
  const advisory = { delivery_id: delivery, event_id: eventId, at, attempts: payload.deliveries, sequence: message.seq, outcome };
  return { tenant, agent, advisory };
};

const readAdvisories = async (nats: NatsConnection, messages: readonly JsMsg[]): Promise<AddressedAdvisory[]> => {
  const { streams } = await manager(nats);
  const { created } = await streams.info(STREAM);
  const advisories: AddressedAdvisory[] = [];
  for (let at = 0; at < messages.length; at += MAX_PARALLEL_LOOKUPS) {
    const chunk = messages.slice(at, at + MAX_PARALLEL_LOOKUPS);
    const found = await Promise.all(chunk.map((message) => readAdvisory(nats, created, message)));
    advisories.push(...found.filter((advisory) => advisory !== null));
  }
  return advisories;
};

export type AdvisoryBatch = { readonly lastSequence: number; readonly advisories: readonly AddressedAdvisory[] };

/** Reads the advisory stream in its order, from the oldest message on. Several readers do not disturb each other. */
export const openAdvisories = async (nats: NatsConnection) => {
  const { streams, consumers } = await manager(nats);
  const { created: epoch } = await streams.info(ADVISORY_STREAM);
  const { name } = await consumers.add(ADVISORY_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    inactive_threshold: nanos(INACTIVE_THRESHOLD_MS),
    mem_storage: true,
    num_replicas: 1,
  });
  const consumer = await nats.jetstream().consumers.get(ADVISORY_STREAM, name);
  return {
    /** When the advisory stream was created. A stream that is created again counts its sequences from 1 again. */
    epoch,
    /**
     * Waits up to `ms` for messages. @returns null if none arrived @throws if the server no longer knows this reader
     */
    next: async (ms: number): Promise<AdvisoryBatch | null> => {
      const messages: JsMsg[] = [];
      for await (const message of await consumer.fetch({ max_messages: MAX_BATCH, expires: ms })) messages.push(message);
      const last = messages.at(-1);
      if (!last) {
        // A restarted server has forgotten the consumer, but `fetch` does not report that.
        await consumers.info(ADVISORY_STREAM, name);
        return null;
      }
      return { lastSequence: last.seq, advisories: await readAdvisories(nats, messages) };
    },
    /** Deletes the messages up to and including a sequence. */
    purge: (lastSequence: number): Promise<unknown> => streams.purge(ADVISORY_STREAM, { seq: lastSequence + 1 }),
    close: (): Promise<unknown> => consumers.delete(ADVISORY_STREAM, name).catch(() => {}),
  };
};
