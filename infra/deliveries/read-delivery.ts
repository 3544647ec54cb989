import type { Logger } from 'pino';
import type { BodyChunks, ReadDelivery, StoredBody } from '../../commands/deliveries/delivery.ts';
import { unreadableBody } from '../../commands/deliveries/delivery.ts';
import { category, type DeliveryEvent, type DeliveryFacts, factsOf, isAccepted } from '../../domain/deliveries/delivery.ts';
import { isReleased, releasedFacts } from '../../domain/deliveries/release.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import { ContentUnreadable } from '../vault/sealed-events.ts';
import { BodyIncomplete, type ChunkSource, readChunks } from './body-chunks.ts';

export type DeliverySource = ChunkSource & { readonly logger: Pick<Logger, 'error'> };

/** Logs the reason unless the tenant was erased. @throws any other error */
const reasonOf = ({ logger }: DeliverySource, error: unknown): ContentUnreadable['reason'] => {
  if (!(error instanceof ContentUnreadable) && !(error instanceof BodyIncomplete)) throw error;
  const reason = error instanceof BodyIncomplete ? 'damaged' : error.reason;
  if (reason !== 'erased') logger.error({ error: error.message }, 'the body of a delivery cannot be opened');
  return reason;
};

async function* withRefusals(source: DeliverySource, chunks: BodyChunks): BodyChunks {
  try {
    yield* chunks;
  } catch (error) {
    throw unreadableBody(reasonOf(source, error));
  }
}

/** Returns the agents in the order in which they got the delivery. */
const agentsOf = (first: Recorded, later: readonly Recorded<DeliveryEvent>[]): string[] => [
  ...(isAccepted(first.type) ? [factsOf(first).agent_id] : []),
  ...later.flatMap(({ type, data }) => (type === 'DeliveryRequeued' || type === 'DeliveryReleased' ? [data.agent_id] : [])),
];

/** Returns the body of the first event or, if its release redacted it, the redacted one. Reads chunks only when the caller needs them. */
export const readDelivery = (source: DeliverySource): ReadDelivery => {
  const { log, vault } = source;

  const openBody = async (accepted: Recorded): Promise<StoredBody> => {
    try {
      return (await vault.openEvent(accepted)).data as Uint8Array;
    } catch (error) {
      return { unreadable: reasonOf(source, error) };
    }
  };

  const openReleased = async (tenant: string, id: string, facts: DeliveryFacts): Promise<StoredBody> => {
    try {
      const [body] = await Array.fromAsync(readChunks(source, tenant, id, { ...facts, parts: 1 }));
      return body!;
    } catch (error) {
      return { unreadable: reasonOf(source, error) };
    }
  };

  return async (tenant, id) => {
    try {
      const [first, ...later] = await Array.fromAsync(log.read(streamName(category, tenant, id)));
      if (!first) return null;
      const released = later.find(isReleased);
      const facts = released ? releasedFacts(factsOf(first), released.data) : factsOf(first);
      const isBlocked = !isAccepted(first.type) && !released;
      const agents = agentsOf(first, later as Recorded<DeliveryEvent>[]);
      if (released?.data.body) return { facts, body: await openReleased(tenant, id, facts), agents, isBlocked };
      const body = facts.parts === undefined ? await openBody(first) : withRefusals(source, readChunks(source, tenant, id, facts));
      return { facts, body, agents, isBlocked };
    } catch (error) {
      return throwAsRefusal(error);
    }
  };
};
