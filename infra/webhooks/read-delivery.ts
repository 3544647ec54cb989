import type { Logger } from 'pino';
import type { BodyChunks, ReadDelivery, StoredBody } from '../../commands/webhooks/delivery.ts';
import { unreadableBody } from '../../commands/webhooks/delivery.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import { category, type DeliveryEvent, factsOf } from '../../domain/webhooks/delivery.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import { ContentUnreadable } from '../vault/sealed-events.ts';
import { type ChunkSource, readChunks } from './body-chunks.ts';

export type DeliverySource = ChunkSource & { readonly logger: Pick<Logger, 'error'> };

/**
 * Returns the reason why a body cannot be decrypted, and logs it, unless the reason is that the tenant was erased.
 * @throws any other error
 */
const reasonOf = ({ logger }: DeliverySource, error: unknown): ContentUnreadable['reason'] => {
  if (!(error instanceof ContentUnreadable)) throw error;
  if (error.reason !== 'erased') logger.error({ error: error.message }, 'the body of a delivery cannot be opened');
  return error.reason;
};

async function* withRefusals(source: DeliverySource, chunks: BodyChunks): BodyChunks {
  try {
    yield* chunks;
  } catch (error) {
    throw unreadableBody(reasonOf(source, error));
  }
}

/**
 * Creates the function that reads a delivery from the log: the first event of its stream. If the body is stored in
 * chunks, each chunk is read only when the caller needs it.
 */
export const readDelivery = (source: DeliverySource): ReadDelivery => {
  const { log, vault } = source;

  const openBody = async (accepted: Recorded): Promise<StoredBody> => {
    try {
      return (await vault.openEvent(accepted)).data as Uint8Array;
    } catch (error) {
      return { unreadable: reasonOf(source, error) };
    }
  };

  return async (tenant, id) => {
    try {
      const [first, ...later] = await Array.fromAsync(log.read(streamName(category, tenant, id)));
      if (!first) return null;
      const facts = factsOf(first);
      const body = facts.parts === undefined ? await openBody(first) : withRefusals(source, readChunks(source, tenant, id, facts));
      const requeued = (later as Recorded<DeliveryEvent>[]).filter((event) => event.type === 'DeliveryRequeued');
      return { facts, body, agents: [facts.agent_id, ...requeued.map(({ data }) => data.agent_id)] };
    } catch (error) {
      return throwAsRefusal(error);
    }
  };
};
