import { AckPolicy, DeliverPolicy, type JsMsg, type NatsConnection, nanos } from 'nats';
import { z } from 'zod';
import type { Advisory } from '../../domain/runners/acknowledgement.ts';
import { isNoMessage, manager, NOTICES, STREAM } from './jetstream.ts';

/** A notice, and whose it is. */
export type AddressedAdvisory = { readonly tenant: string; readonly agent: string; readonly notice: Advisory };

const IDLE_MS = 60_000;
const MAX_BATCH = 4_000;
const LOOK_UPS = 64;

const Said = z.object({ type: z.string(), timestamp: z.string(), stream_seq: z.number(), deliveries: z.number() });
type Said = z.output<typeof Said>;

const outcomes: Readonly<Record<string, Advisory['outcome']>> = {
  consumer_ack: 'acknowledged',
  max_deliver: 'max_deliveries',
  terminated: 'terminated',
};

/** `io.nats.jetstream.metric.v1.consumer_ack` and its like. */
const outcomeOf = ({ type }: Said): Advisory['outcome'] | undefined => outcomes[type.split('.').at(-1) ?? ''];

const saidIn = (message: JsMsg): Said | null => {
  try {
    return Said.safeParse(JSON.parse(message.string())).data ?? null;
  } catch {
    return null;
  }
};

/** The message that a notice is about; null where the stream holds it no more. */
const described = async (
  nats: NatsConnection,
  sequence: number,
): Promise<(Omit<AddressedAdvisory, 'notice'> & { id: string; delivery: string }) | null> => {
  const { streams } = await manager(nats);
  const found = await streams.getMessage(STREAM, { seq: sequence }).catch((error: unknown) => {
    if (isNoMessage(error)) return null;
    throw error;
  });
  const [, tenant, agent] = found?.subject.split('.') ?? [];
  const id = found?.header.get('Nats-Msg-Id');
  const delivery = found?.header.get('Annals-Delivery');
  return tenant && agent && id && delivery ? { tenant, agent, id, delivery } : null;
};

/** What a message says, with the delivery that it is about; null where it says nothing that still means something. */
const addressed = async (nats: NatsConnection, born: string, message: JsMsg): Promise<AddressedAdvisory | null> => {
  const said = saidIn(message);
  const outcome = said && outcomeOf(said);
  // The stream was made anew since: the sequence is another message's now.
  if (!said || !outcome || Date.parse(said.timestamp) < Date.parse(born)) return null;
  const about = await described(nats, said.stream_seq);
  if (!about) return null;
  const { tenant, agent, id, delivery } = about;
  const at = new Date(said.timestamp).toISOString();
  return { tenant, agent, notice: { delivery_id: delivery, event_id: id, at, attempts: said.deliveries, sequence: message.seq, outcome } };
};

export type Batch = { readonly through: number; readonly notices: readonly AddressedAdvisory[] };

/** Reads the notices in their order from the oldest kept one on. Readers do not disturb each other. */
export const openAdvisories = async (nats: NatsConnection) => {
  const { streams, consumers } = await manager(nats);
  const { created: epoch } = await streams.info(NOTICES);
  const { name } = await consumers.add(NOTICES, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    inactive_threshold: nanos(IDLE_MS),
    mem_storage: true,
    num_replicas: 1,
  });
  const consumer = await nats.jetstream().consumers.get(NOTICES, name);
  return {
    /** Tells one life of this stream from the next. */
    epoch,
    /** Waits `ms` for notices; null where there were none. @throws where the server has lost this reader */
    next: async (ms: number): Promise<Batch | null> => {
      const messages: JsMsg[] = [];
      for await (const message of await consumer.fetch({ max_messages: MAX_BATCH, expires: ms })) messages.push(message);
      const last = messages.at(-1);
      if (!last) {
        // A server that was started again knows this reader no more, and doesn't say so.
        await consumers.info(NOTICES, name);
        return null;
      }
      const { created } = await streams.info(STREAM);
      const notices: AddressedAdvisory[] = [];
      for (let at = 0; at < messages.length; at += LOOK_UPS) {
        const found = await Promise.all(messages.slice(at, at + LOOK_UPS).map((message) => addressed(nats, created, message)));
        notices.push(...found.filter((one) => one !== null));
      }
      return { through: last.seq, notices };
    },
    /** Drops what the log holds by now. */
    forget: (through: number): Promise<unknown> => streams.purge(NOTICES, { seq: through + 1 }),
    close: (): Promise<unknown> => consumers.delete(NOTICES, name).catch(() => {}),
  };
};
