import type { ReadDelivery } from '../../commands/webhooks/delivery.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import { category, type DeliveryEvent, factsOf } from '../../domain/webhooks/delivery.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { readChunks } from './body-chunks.ts';

/**
 * Reads a delivery from the log. The first event of its stream is the delivery. If the body is stored in chunks, each
 * chunk is read only when the caller asks for it.
 */
export const readDelivery =
  (log: Log): ReadDelivery =>
  async (tenant, id) => {
    try {
      const [first, ...later] = await Array.fromAsync(log.read(streamName(category, tenant, id)));
      if (!first) return null;
      const facts = factsOf(first);
      const body = facts.parts === undefined ? (first.data as Uint8Array) : readChunks(log, tenant, id, facts);
      const requeued = (later as Recorded<DeliveryEvent>[]).filter((event) => event.type === 'DeliveryRequeued');
      return { facts, body, agents: [facts.agent_id, ...requeued.map(({ data }) => data.agent_id)] };
    } catch (error) {
      return throwAsRefusal(error);
    }
  };
