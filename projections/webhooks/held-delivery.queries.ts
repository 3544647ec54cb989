import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/** The maximum number of deliveries of one source that one run of the reactor handles. */
export const MAX_PER_SOURCE = 100;

type SourceArgs = { readonly tenant_id: string; readonly integration_id: string };

const firstHeld = defineQuery((db, { tenant_id, integration_id }: SourceArgs) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where('delivery.held_at', 'is not', null)
    .limit(({ lit }) => lit(1)),
);

/** Returns the function that says whether held deliveries of a source wait. */
export const hasHeldOver =
  (reads: QueryReads) =>
  async (tenant_id: string, integration_id: string): Promise<boolean> =>
    (await reads.rows(firstHeld, { tenant_id, integration_id })).length > 0;

/** Selects the first source with held deliveries after the given one, by its ids. */
const nextSource = defineQuery((db, { tenant_id, integration_id }: SourceArgs) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(['delivery.tenant_id', 'delivery.integration_id'])
    .where('delivery.held_at', 'is not', null)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('delivery.tenant_id', 'delivery.integration_id'), '>', tuple(tenant_id, integration_id)),
    )
    .orderBy('delivery.tenant_id')
    .orderBy('delivery.integration_id')
    .limit(({ lit }) => lit(1)),
);

const heldOfSource = defineQuery((db, { tenant_id, integration_id }: SourceArgs) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(['delivery.tenant_id', 'delivery.integration_id', 'delivery.id', 'delivery.held_at'])
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where('delivery.held_at', 'is not', null)
    .orderBy('delivery.held_at')
    .orderBy('delivery.id')
    .limit(({ lit }) => lit(MAX_PER_SOURCE)),
);

/** A held delivery. `held_at` is when it was received. */
export type HeldDelivery = {
  readonly tenant_id: string;
  readonly integration_id: string;
  readonly id: string;
  readonly held_at: string;
};

/** Returns the oldest held deliveries of each source, in the order of their receipt. */
export const heldDeliveries = async (reads: QueryReads): Promise<HeldDelivery[]> => {
  const found: HeldDelivery[] = [];
  const next = async (source: SourceArgs) => (await reads.rows(nextSource, source))[0] as SourceArgs | undefined;
  for (let source = await next({ tenant_id: '', integration_id: '' }); source; source = await next(source))
    found.push(...((await reads.rows(heldOfSource, source)) as HeldDelivery[]));
  return found.sort((a, b) => Date.parse(a.held_at) - Date.parse(b.held_at));
};
