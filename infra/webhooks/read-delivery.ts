import type { ReadDelivery } from '../../commands/webhooks/delivery.ts';
import { streamName } from '../../domain/event.ts';
import { category, factsOf } from '../../domain/webhooks/delivery.ts';
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
      for await (const event of log.read(streamName(category, tenant, id), { limit: 1 })) {
        const facts = factsOf(event);
        return { facts, body: facts.parts === undefined ? (event.data as Uint8Array) : readChunks(log, tenant, id, facts) };
      }
      return null;
    } catch (error) {
      return throwAsRefusal(error);
    }
  };
