import { table } from '../deliveries/delivery.ts';
import { defineList } from '../query.ts';
import type { Reads } from '../read-model.ts';

/**
 * The verified deliveries of a tenant, or of one integration, that were received from `from` (inclusive) to `to`
 * (exclusive).
 */
export type TriedDeliveries = {
  readonly tenant_id: string;
  readonly integration_id?: string | undefined;
  readonly from: string;
  readonly to: string;
};

const triedList = defineList({ table, doc: 'list_doc' }, (db, { tenant_id, integration_id, from, to }: TriedDeliveries) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .$if(integration_id !== undefined, (query) => query.where('delivery.integration_id', '=', integration_id!))
    .where('delivery.outcome', '!=', 'rejected')
    .where('delivery.received_at', '>=', from)
    .where('delivery.received_at', '<', to),
);

/** Returns the ids of the newest selected deliveries, at most `limit`, the newest first. */
export const triedDeliveries = async (reads: Reads, selected: TriedDeliveries, limit: number): Promise<readonly string[]> => {
  const { body } = await reads.page(triedList, selected, { sort: { column: 'received_at', descending: true }, limit });
  return (JSON.parse(body) as { readonly id: string }[]).map(({ id }) => id);
};
