import { AckPolicy, type ConsumerInfo, DeliverPolicy, type NatsConnection, nanos } from 'nats';
import { counted } from '../../domain/counted.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { manager, STREAM } from './jetstream.ts';
import { CONSUMER_NOT_FOUND, nullOnCode } from './jetstream-errors.ts';

const INACTIVE_THRESHOLD_MS = 30_000;
const MAX_BATCH = 2_000;
const FETCH_TIMEOUT_MS = 2_000;

/** Null if no runner has ever connected. @throws NatsError */
export const runnerConsumer = async (nats: NatsConnection, agent: string): Promise<ConsumerInfo | null> => {
  const { consumers } = await manager(nats);
  return nullOnCode(consumers.info(STREAM, consumerName(agent)), CONSUMER_NOT_FOUND);
};

/** Counts also those that a runner has acknowledged. @throws NatsError */
export const storedMessages = async (nats: NatsConnection, tenant: string, agent: string): Promise<number> => {
  const { streams } = await manager(nats);
  const { state } = await streams.info(STREAM, { subjects_filter: inboundSubject(tenant, agent) });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

/** Counts messages that the broker must still send, or for whose acknowledgement it waits. */
export const outstandingCount = async (nats: NatsConnection, tenant: string, agent: string): Promise<number> => {
  const consumer = await runnerConsumer(nats, agent);
  return consumer ? consumer.num_pending + consumer.num_ack_pending : storedMessages(nats, tenant, agent);
};

/**
 * Starts with the first unacknowledged message: the broker may still have to send these.
 * @throws NatsError, or Error if the broker has not sent all of them
 */
export const readOutstandingIds = async (
  nats: NatsConnection,
  tenant: string,
  agent: string,
  onId: (id: string) => void,
): Promise<void> => {
  const runners = await runnerConsumer(nats, agent);
  const { consumers } = await manager(nats);
  const { name, num_pending } = await consumers.add(STREAM, {
    filter_subject: inboundSubject(tenant, agent),
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: (runners?.ack_floor.stream_seq ?? 0) + 1,
    headers_only: true,
    inactive_threshold: nanos(INACTIVE_THRESHOLD_MS),
    mem_storage: true,
    num_replicas: 1,
  });
  try {
    const consumer = await nats.jetstream().consumers.get(STREAM, name);
    for (let left = num_pending; left > 0; ) {
      let received = 0;
      for await (const message of await consumer.fetch({ max_messages: Math.min(left, MAX_BATCH), expires: FETCH_TIMEOUT_MS })) {
        const id = message.headers?.get('Nats-Msg-Id');
        if (id) onId(id);
        received++;
      }
      if (received === 0) throw new Error(`the broker did not send ${counted(left, 'message')} of the agent ${agent}`);
      left -= received;
    }
  } finally {
    await consumers.delete(STREAM, name).catch(() => {});
  }
};
