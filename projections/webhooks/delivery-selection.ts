import type { Kysely } from 'kysely';
import type { Database } from '../database.ts';
import type { MATCHED_SECRETS, OUTCOMES, STATUSES } from './delivery.ts';

export type DeliveryFilter = {
  readonly integration_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly event?: string | undefined;
  readonly provider_delivery_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly matched_secret?: (typeof MATCHED_SECRETS)[number] | undefined;
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  readonly status?: (typeof STATUSES)[number] | undefined;
  /** Whether to select only deliveries whose last message failed at a runner, and is not acknowledged. */
  readonly failed?: boolean | undefined;
  /** The earliest time of receipt (inclusive). `to` is the latest one (exclusive). */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/** Selects deliveries of a tenant. With `agent_ids`, only the deliveries of these agents. */
export type SelectedDeliveries = DeliveryFilter & { readonly tenant_id: string; readonly agent_ids?: readonly string[] | undefined };

/** The arguments of a query for the deliveries that a filter selects. */
export type SelectionArgs = Omit<SelectedDeliveries, 'status' | 'failed'> & {
  readonly failed?: true | undefined;
  readonly stored_status?: string | undefined;
  /**
   * If set, only unsettled deliveries are selected: with `published`, those whose message is published, and with
   * `unpublished`, those whose message is not.
   */
  readonly published?: true | undefined;
  readonly unpublished?: true | undefined;
};

/** Selects the deliveries of a tenant. See `Query` for the arguments. */
export const selectDeliveries = (db: Kysely<Database>, args: SelectionArgs) => {
  const { tenant_id, agent_ids, integration_id, agent_id, provider, event, outcome, from, to } = args;
  const { provider_delivery_id, reason, matched_secret } = args;
  const publishedThrough = db
    .selectFrom('deliveries.publications as publication')
    .select('publication.place')
    .orderBy('publication.recorded', 'desc')
    .limit(({ lit }) => lit(1));
  return db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('delivery.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(integration_id !== undefined, (query) => query.where('delivery.integration_id', '=', integration_id!))
    .$if(agent_id !== undefined, (query) => query.where('delivery.agent_id', '=', agent_id!))
    .$if(provider !== undefined, (query) => query.where('delivery.provider', '=', provider!))
    .$if(event !== undefined, (query) => query.where('delivery.event', '=', event!))
    .$if(provider_delivery_id !== undefined, (query) => query.where('delivery.provider_delivery_id', '=', provider_delivery_id!))
    .$if(reason !== undefined, (query) => query.where('delivery.reason', '=', reason!))
    .$if(matched_secret !== undefined, (query) => query.where('delivery.matched_secret', '=', matched_secret!))
    .$if(outcome !== undefined, (query) => query.where('delivery.outcome', '=', outcome!))
    .$if(args.failed !== undefined, (query) => query.where('delivery.failed_at', 'is not', null))
    .$if(args.stored_status !== undefined, (query) => query.where('delivery.status', '=', args.stored_status!))
    .$if(args.published !== undefined, (query) => query.where('delivery.unsettled', '<=', publishedThrough))
    .$if(args.unpublished !== undefined, (query) =>
      query.where(({ eb, fn, val }) => eb('delivery.unsettled', '>', fn.coalesce(publishedThrough, val('')) as never)),
    )
    .$if(from !== undefined, (query) => query.where('delivery.received_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('delivery.received_at', '<', to!));
};

/**
 * Returns the arguments that select deliveries by their status. The status is `dead` if, and only if, the outcome is
 * `dead`.
 */
const storedStatus = ({ status, outcome }: DeliveryFilter): Partial<SelectionArgs> => {
  if (status === 'waiting') return { unpublished: true };
  if (status === 'running') return { published: true };
  return { stored_status: status, ...(status === 'dead' && outcome === undefined && { outcome: 'dead' }) };
};

/** Returns the arguments of a query for these deliveries. */
export const selectionArgs = ({ status, failed, ...selected }: SelectedDeliveries): SelectionArgs => ({
  ...selected,
  ...(failed === true && { failed }),
  ...storedStatus({ ...selected, status }),
});
