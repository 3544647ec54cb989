import { sql } from 'kysely';
import { type SelectionArgs, selectDeliveries } from '../deliveries/delivery-selection.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/**
 * The deliveries of a tenant that were received from `from` (inclusive) to `to` (exclusive). With `agent_ids`, only those
 * that were addressed to these agents.
 */
export type CountedDeliveries = {
  readonly tenant_id: string;
  readonly agent_ids: readonly string[] | undefined;
  readonly from: string;
  readonly to: string;
};

/** How much was counted in one hour: `hours` is the index of the hour, counted from the start of the period. */
export type HourCount = { readonly hour: number; readonly count: number };

/** The index of the hour in which a time lies, counted from `from`. */
const hourSince = (column: string, from: string | undefined) =>
  sql<number>`floor(extract(epoch from ${sql.ref(column)} - ${from}::timestamptz)::float8 / 3600)::integer`;

const receivedByHour = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .select(({ fn, cast }) => [hourSince('delivery.received_at', args.from).as('hour'), cast<number>(fn.countAll(), 'integer').as('count')])
    .groupBy('hour'),
);

/** Counts the accepted deliveries by the hour of their receipt. Hours without any are absent. */
export const acceptedByHour = (reads: QueryReads, args: CountedDeliveries): Promise<HourCount[]> =>
  reads.rows(receivedByHour, { ...args, outcome: 'accepted' });

/** Deliveries of a tenant that were given up since a time, whenever they were received. */
type GivenUpArgs = Pick<CountedDeliveries, 'tenant_id' | 'agent_ids'> & { readonly given_up_from: string };

const givenUp = defineQuery((db, args: GivenUpArgs) =>
  selectDeliveries(db, args)
    .select(({ fn, cast }) => [
      hourSince('delivery.failed_at', args.given_up_from).as('hour'),
      cast<number>(fn.countAll(), 'integer').as('count'),
    ])
    .groupBy('hour'),
);

/** Counts the deliveries that were given up by the hour in which this happened. Hours without any are absent. */
export const givenUpByHour = (reads: QueryReads, args: GivenUpArgs): Promise<HourCount[]> => reads.rows(givenUp, args);

/** The maximum number of deliveries that `countGivenUp` counts. */
export const MAX_DEAD = 1_000;

/** A caller who may read few agents must not cause a read of all that a tenant gave up during an outage. */
const MAX_DEAD_EXAMINED = 10_000;

const givenUpRows = defineQuery((db, { agent_ids, ...args }: GivenUpArgs) => {
  const newest = selectDeliveries(db, args)
    .select('delivery.agent_id')
    .orderBy('delivery.failed_at', 'desc')
    .limit(({ lit }) => lit(MAX_DEAD_EXAMINED));
  const counted = db
    .selectFrom(newest.as('newest'))
    .select('newest.agent_id')
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('newest.agent_id', '=', fn.any(val(agent_ids!)))))
    .limit(({ lit }) => lit(MAX_DEAD));
  return db.selectFrom(counted.as('counted')).select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count'));
});

/** Counts the deliveries that were given up, up to MAX_DEAD, among the newest 10,000 of the tenant. */
export const countGivenUp = async (reads: QueryReads, args: GivenUpArgs): Promise<number> =>
  (await reads.rows(givenUpRows, args))[0]?.count ?? 0;

/** The maximum number of deliveries of each outcome that `countUpToMax` counts. */
export const MAX_COUNTED = 100_000;

const countedRows = defineQuery((db, args: SelectionArgs) =>
  db
    .selectFrom(
      selectDeliveries(db, args)
        .select('delivery.id')
        .limit(({ lit }) => lit(MAX_COUNTED))
        .as('counted'),
    )
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count')),
);

/** Counts the deliveries of a tenant that were received since `from`, by outcome, up to MAX_COUNTED of each. */
export const countUpToMax = async (reads: QueryReads, args: Pick<CountedDeliveries, 'tenant_id' | 'from'>) => {
  const countOf = async (outcome: 'accepted' | 'dead'): Promise<number> =>
    (await reads.rows(countedRows, { ...args, outcome }))[0]?.count ?? 0;
  const [accepted, dead] = await Promise.all([countOf('accepted'), countOf('dead')]);
  return { accepted, dead };
};

type OpenArgs = Pick<CountedDeliveries, 'tenant_id' | 'agent_ids'> & { readonly since: string };

const openByHour = defineQuery((db, { since, ...args }: OpenArgs) =>
  selectDeliveries(db, args)
    .where(({ eb, or }) => or([eb('delivery.unsettled', 'is not', null), eb('delivery.held_at', 'is not', null)]))
    .select(({ fn, cast, eb }) => [
      sql<number>`greatest(${hourSince('delivery.received_at', since)}, -1)`.as('hour'),
      fn.coalesce('delivery.message_agent_id', 'delivery.agent_id').as('runner_of'),
      eb('delivery.held_at', 'is not', null).as('is_held'),
      cast<number>(fn.countAll(), 'integer').as('count'),
      fn.min('delivery.received_at').as('oldest_at'),
    ])
    .groupBy(['hour', 'runner_of', 'is_held']),
);

/**
 * Unfinished deliveries that were received in the same hour. Those that were received before `since` have the hour -1.
 * `runner_of` is the agent whose runner gets them. `is_held`: whether a rule holds them.
 */
export type OpenCount = HourCount & { readonly runner_of: string; readonly is_held: boolean; readonly oldest_at: string };

/** Counts the deliveries that are neither acknowledged nor given up, by the agent and by the hour of their receipt. */
export const openCounts = async (reads: QueryReads, args: OpenArgs): Promise<readonly OpenCount[]> =>
  (await reads.rows(openByHour, args)) as OpenCount[];

type CostArgs = { readonly tenant_id: string; readonly from: string; readonly to: string };

const costByHour = defineQuery((db, { tenant_id, from, to }: CostArgs) =>
  db
    .selectFrom('costs.messages as message')
    .where('message.tenant_id', '=', tenant_id)
    .where('message.at', '>=', from)
    .where('message.at', '<', to)
    .select(({ fn, cast }) => [
      hourSince('message.at', from).as('hour'),
      cast<number>(fn.sum('message.cost_micros'), 'double precision').as('count'),
    ])
    .groupBy('hour'),
);

/** Adds up what the use of models has cost in each hour of the period, in micro-dollars. Hours without use are absent. */
export const costsByHour = (reads: QueryReads, args: CostArgs): Promise<HourCount[]> =>
  reads.rows(costByHour, args) as Promise<HourCount[]>;

/** How many of the newest deliveries are searched for one that was acknowledged. */
const MAX_EXAMINED = 1_000;

const firstDone = defineQuery((db, args: Pick<CountedDeliveries, 'tenant_id' | 'agent_ids'>) =>
  db
    .selectFrom(
      selectDeliveries(db, args)
        .select('delivery.status')
        .orderBy('delivery.received_at', 'desc')
        .orderBy('delivery.id', 'desc')
        .limit(({ lit }) => lit(MAX_EXAMINED))
        .as('newest'),
    )
    .where('newest.status', '=', 'done')
    .select('newest.status')
    .limit(({ lit }) => lit(1)),
);

/** Returns whether a runner has acknowledged one of the newest 1,000 deliveries. */
export const hasAcknowledged = async (reads: QueryReads, args: Pick<CountedDeliveries, 'tenant_id' | 'agent_ids'>): Promise<boolean> =>
  (await reads.rows(firstDone, args)).length > 0;
