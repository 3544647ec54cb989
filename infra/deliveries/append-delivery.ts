import * as DeliveryBody from '../../domain/bodies/delivery-body.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import type { Actor } from '../../domain/event.ts';
import { streamName } from '../../domain/event.ts';
import { derivedId } from '../aggregates/transact.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import type { SealedEvents } from '../vault/sealed-events.ts';
import { chunkEvent, writeChunks } from './body-chunks.ts';

/** The id of the event is derived from `seed`. */
export type DeliveryStart = {
  readonly type: Extract<Delivery.DeliveryEvent, { data: Uint8Array }>['type'];
  readonly actor: Actor;
  readonly seed: string;
};

type DeliveryRef = { readonly tenant_id: string; readonly id: string };

/** Does nothing if the delivery exists. Stores a large body in chunks first. */
export const deliveryAppender =
  (log: Log, vault: Pick<SealedEvents, 'sealEvent'>, { type, actor, seed }: DeliveryStart) =>
  async ({ tenant_id: tenant, id }: DeliveryRef, facts: Delivery.DeliveryFacts, body: Uint8Array): Promise<void> => {
    const stream = streamName(Delivery.category, tenant, id);
    if (facts.parts !== undefined) {
      const delivery = { integration: { id: facts.integration_id, tenant_id: tenant }, id, facts, body };
      const chunks = DeliveryBody.chunkStream(tenant, id, facts.sha256);
      const place = { tenant, category: DeliveryBody.category, id: DeliveryBody.chunksId(id, facts.sha256) };
      await writeChunks(log, async (large, index) => vault.sealEvent(place, chunkEvent(chunks, large, index)), delivery);
    }
    const data = facts.parts === undefined ? body : new Uint8Array();
    const meta = { tenant, actor, at: facts.received_at, v: 1, facts };
    const sealed = await vault.sealEvent({ tenant, category: Delivery.category, id }, { id: derivedId(stream, seed), type, data, meta });
    await log.append(stream, 'none', [sealed]).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  };
