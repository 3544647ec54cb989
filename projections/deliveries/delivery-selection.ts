import { type Kysely, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { MATCHED_SECRETS, OUTCOMES } from './delivery.ts';
import type { AgentQueues, DeliveryState, DeliveryStatus } from './delivery-states.ts';

/** Returns a text that sorts like the time of receipt: 20 digits, followed by the id. Postgres keeps only one text of each group. */
const timedId = (alias: string) =>
  sql`to_char(${sql.ref(`${alias}.received_at`)} at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || ${sql.ref(`${alias}.id`)}`;

/** The id of the delivery of a group that was received first. */
export const oldestId = (alias: string) => sql<string>`substr(min(${timedId(alias)}), 21)`;

/** The id of the delivery of a group that was received last. */
export const newestId = (alias: string) => sql<string>`substr(max(${timedId(alias)}), 21)`;

export type DeliveryFilter = {
  readonly integration_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly event?: string | undefined;
  readonly provider_delivery_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly matched_secret?: (typeof MATCHED_SECRETS)[number] | undefined;
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  readonly status?: DeliveryStatus | undefined;
  /** The state. It replaces `status` and `outcome`, which are ignored if it is given. */
  readonly state?: DeliveryState | undefined;
  /** The rule or check that has blocked the delivery. */
  readonly rule?: string | undefined;
  /** Why the last reported attempt failed, as `problem` of a delivery; `none`: without a report. */
  readonly problem?: string | undefined;
  /** Whether to select only deliveries whose last message failed at a runner, and is not acknowledged. */
  readonly failed?: boolean | undefined;
  /** If set, selects only deliveries that were given up at this time or later. */
  readonly given_up_from?: string | undefined;
  /** The earliest time of receipt (inclusive). `to` is the latest one (exclusive). */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/**
 * Selects deliveries of a tenant. With `agent_ids`, only the deliveries of these agents. Without `queues`, each published
 * delivery counts as queued and as running, and none as held.
 */
export type SelectedDeliveries = DeliveryFilter & {
  readonly tenant_id: string;
  readonly agent_ids?: readonly string[] | undefined;
  readonly queues?: AgentQueues | undefined;
};

/** The arguments of a query for the deliveries that a filter selects. */
export type SelectionArgs = Omit<SelectedDeliveries, 'status' | 'state' | 'failed' | 'queues'> & {
  readonly failed?: true | undefined;
  /** If set, selects only deliveries without a report in which a runner says why an attempt failed. */
  readonly unreported?: true | undefined;
  readonly stored_status?: string | undefined;
  /**
   * If set, only unsettled deliveries are selected: with `published`, those whose message is published, and with
   * `unpublished`, those whose message is not.
   */
  readonly published?: true | undefined;
  readonly unpublished?: true | undefined;
  /** If set, only published deliveries that a runner has are selected; with `idle`, only those that no runner has. */
  readonly running?: true | undefined;
  readonly idle?: true | undefined;
  /** If set, only open deliveries in this state are selected. */
  readonly open_state?: string | undefined;
  /**
   * If set, only deliveries are selected that a rule holds, or that no runner has and whose agent is in `spent_agents`;
   * with `spent`, only those to agents in `spent_agents`, and with `unspent`, only those to the other agents.
   */
  readonly held?: true | undefined;
  readonly spent?: true | undefined;
  readonly unspent?: true | undefined;
  /** The next three fields are the contents of AgentQueues. `working_before` has one sort key for each of `working_agents`, in their order. */
  readonly working_agents?: readonly string[] | undefined;
  readonly working_before?: readonly string[] | undefined;
  readonly spent_agents?: readonly string[] | undefined;
  readonly at?: string | undefined;
};

/** A condition: a connected runner has the message of the delivery, and it does not wait for its next attempt. */
const isWithRunner = ({ working_agents, working_before, at }: SelectionArgs) =>
  sql<boolean>`(coalesce(delivery.retry_at <= ${at}::timestamptz, true) and exists (select from unnest(${working_agents}::text[], ${working_before}::text[]) as working (agent_id, before) where working.agent_id = delivery.message_agent_id and delivery.unsettled < working.before))`;

const isForSpentAgent = ({ spent_agents }: SelectionArgs) => sql<boolean>`delivery.message_agent_id = any(${spent_agents}::text[])`;

/** The sort key of the log position up to which messages are published. There is no row if none is. */
const publishedThroughIn = (db: Kysely<Database>) =>
  db
    .selectFrom('deliveries.publications as publication')
    .select('publication.place')
    .orderBy('publication.recorded', 'desc')
    .limit(({ lit }) => lit(1));

/** A condition: the delivery is held, or its message is not settled. */
export const isOpen = sql<boolean>`(delivery.unsettled is not null or delivery.held_at is not null)`;

/** The state of an open delivery. It must be the same as that of `publishedState`. */
export const openState = (db: Kysely<Database>, args: SelectionArgs) =>
  sql<string>`case when delivery.held_at is not null then 'held' when delivery.unsettled > coalesce((${publishedThroughIn(db)}), '') then 'waiting' when ${isForSpentAgent(args)} and not ${isWithRunner(args)} then 'held' when delivery.retry_at is not null then 'retrying' when ${isWithRunner(args)} then 'running' else 'queued' end`;

/** Selects the deliveries of a tenant. See `Query` for the arguments. */
export const selectDeliveries = (db: Kysely<Database>, args: SelectionArgs) => {
  const { tenant_id, agent_ids, integration_id, agent_id, provider, event, outcome, from, to } = args;
  const { provider_delivery_id, reason, matched_secret } = args;
  const publishedThrough = publishedThroughIn(db);
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
    .$if(args.rule !== undefined, (query) => query.where('delivery.rule', '=', args.rule!))
    .$if(args.problem !== undefined, (query) => query.where('delivery.problem', '=', args.problem!))
    .$if(args.unreported !== undefined, (query) => query.where('delivery.problem', 'is', null))
    .$if(args.failed !== undefined, (query) => query.where('delivery.failed_at', 'is not', null))
    .$if(args.given_up_from !== undefined, (query) =>
      query.where('delivery.outcome', '=', 'dead').where('delivery.failed_at', '>=', args.given_up_from!),
    )
    .$if(args.stored_status !== undefined, (query) => query.where('delivery.status', '=', args.stored_status!))
    .$if(args.published !== undefined, (query) => query.where('delivery.unsettled', '<=', publishedThrough))
    .$if(args.unpublished !== undefined, (query) =>
      query.where(({ eb, fn, val }) => eb('delivery.unsettled', '>', fn.coalesce(publishedThrough, val('')))),
    )
    .$if(args.running !== undefined, (query) => query.where(isWithRunner(args)))
    .$if(args.idle !== undefined, (query) => query.where(({ not }) => not(isWithRunner(args))))
    .$if(args.open_state !== undefined, (query) => query.where(isOpen).where(openState(db, args), '=', args.open_state!))
    .$if(args.held !== undefined, (query) =>
      query.where(({ eb, and, or, not }) =>
        or([
          eb('delivery.held_at', 'is not', null),
          and([eb('delivery.unsettled', '<=', publishedThrough), isForSpentAgent(args), not(isWithRunner(args))]),
        ]),
      ),
    )
    .$if(args.spent !== undefined, (query) => query.where(isForSpentAgent(args)))
    .$if(args.unspent !== undefined, (query) => query.where(({ not }) => not(isForSpentAgent(args))))
    .$if(from !== undefined, (query) => query.where('delivery.received_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('delivery.received_at', '<', to!));
};

/** The statuses of deliveries whose message is published and neither acknowledged nor given up. */
const PUBLISHED = ['queued', 'running', 'held'] as const satisfies readonly DeliveryStatus[];
type PublishedStatus = (typeof PUBLISHED)[number];

export const isPublishedStatus = (status: DeliveryStatus | undefined): status is PublishedStatus =>
  (PUBLISHED as readonly (DeliveryStatus | undefined)[]).includes(status);

/** Whether a state depends on the broker: on whether a runner has the message. */
export const isPublishedState = (state: DeliveryState | undefined): boolean =>
  state === 'retrying' || (PUBLISHED as readonly (DeliveryState | undefined)[]).includes(state);

/** Returns the arguments that tell a query what the broker knows. */
export const queueArgs = ({ at, working, spent }: AgentQueues) => ({
  at,
  working_agents: working.map(({ agent_id }) => agent_id),
  working_before: working.map(({ before }) => before),
  spent_agents: spent.map(({ agent_id }) => agent_id),
});

const publishedArgs = (status: PublishedStatus, queues: AgentQueues | undefined): Partial<SelectionArgs> => {
  if (!queues) return status === 'held' ? { stored_status: status } : { published: true };
  const { spent_agents, ...working } = queueArgs(queues);
  if (status === 'running') return { published: true, running: true, ...working };
  return status === 'held'
    ? { held: true, ...working, spent_agents }
    : { published: true, idle: true, unspent: true, ...working, spent_agents };
};

/** The queues when nothing is known about an agent: no runner is connected, and no budget is used up. */
const NO_QUEUES: AgentQueues = { at: '1970-01-01T00:00:00.000Z', working: [], spent: [] };

/** Returns the arguments that select deliveries by their state. */
const stateArgs = (state: DeliveryState, queues: AgentQueues | undefined): Partial<SelectionArgs> => {
  if (state === 'waiting') return { unpublished: true };
  if (state === 'acknowledged') return { outcome: 'accepted', stored_status: 'done' };
  if (state === 'dead' || state === 'blocked' || state === 'rejected') return { outcome: state };
  return { open_state: state, ...queueArgs(queues ?? NO_QUEUES) };
};

/**
 * Returns the arguments that select deliveries by their status. The status is `dead` if, and only if, the outcome is
 * `dead`.
 */
const statusArgs = ({ status, outcome }: DeliveryFilter, queues: AgentQueues | undefined): Partial<SelectionArgs> => {
  if (status === 'waiting') return { unpublished: true };
  if (isPublishedStatus(status)) return publishedArgs(status, queues);
  return { stored_status: status, ...(status === 'dead' && outcome === undefined && { outcome: 'dead' }) };
};

export const selectionArgs = ({ status, state, failed, queues, outcome, problem, ...selected }: SelectedDeliveries): SelectionArgs => ({
  ...selected,
  ...(failed === true && { failed }),
  ...(problem === 'none' ? { unreported: true } : { problem }),
  ...(state === undefined ? { outcome, ...statusArgs({ status, outcome }, queues) } : stateArgs(state, queues)),
});
