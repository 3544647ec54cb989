import type { ReadDelivery } from '../../commands/delivery.ts';
import { category, factsOf } from '../../domain/delivery.ts';
import { streamName } from '../../domain/event.ts';
import type { Log } from '../eventstore/log.ts';
import { mendLogError } from '../transact.ts';

/** Reads deliveries from the log: the first event of the stream is the delivery. */
export const readDelivery =
  (log: Log): ReadDelivery =>
  async (tenant, id) => {
    try {
      for await (const event of log.read(streamName(category, tenant, id), { limit: 1 })) {
        return { facts: factsOf(event), body: event.data as Uint8Array };
      }
      return null;
    } catch (error) {
      return mendLogError(error);
    }
  };
