import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/** The maximum number of deliveries of one source that one run of the reactor handles. */
const MAX_PER_SOURCE = 100;

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

export const hasHeldOver =
  (reads: QueryReads) =>
  async (tenant_id: string, integration_id: string): Promise<boolean> =>
    (await reads.rows(firstHeld, { tenant_id, integration_id })).length > 0;

/** Selects the source with held deliveries that follows the given one in the order of ids. */
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

/** `held_at` is the time at which the delivery was received. */
export type HeldDelivery = {
  readonly tenant_id: string;
  readonly integration_id: string;
  readonly id: string;
  readonly held_at: string;
};

/** The limits for one call: the sources that it examines, and those whose deliveries it returns. */
const MAX_EXAMINED = 500;
const MAX_SOURCES = 50;

export type HeldSource = SourceArgs;
const FIRST: HeldSource = { tenant_id: '', integration_id: '' };

/** The sources after `after` in the order of ids (null: from the first one) for which `isDue` returns true. */
type Examined = { readonly after: HeldSource | null; readonly isDue: (source: HeldSource) => boolean };

/**
 * Returns the oldest held deliveries of several sources, in the order of their receipt. `last` is the last examined
 * source; null if no source follows it.
 */
export const heldDeliveries = async (
  reads: QueryReads,
  { after, isDue }: Examined,
): Promise<{ readonly held: HeldDelivery[]; readonly last: HeldSource | null }> => {
  const held: HeldDelivery[] = [];
  const next = async (source: HeldSource) => ((await reads.rows(nextSource, source))[0] as HeldSource | undefined) ?? null;
  let source = await next(after ?? FIRST);
  let last: HeldSource | null = null;
  for (let examined = 0, due = 0; source && examined < MAX_EXAMINED && due < MAX_SOURCES; examined++) {
    if (isDue(source)) {
      due++;
      held.push(...((await reads.rows(heldOfSource, source)) as HeldDelivery[]));
    }
    last = source;
    source = await next(source);
  }
  return { held: held.sort((a, b) => Date.parse(a.held_at) - Date.parse(b.held_at)), last: source && last };
};
