import { sql } from 'kysely';
import { type SelectionArgs, selectDeliveries } from '../deliveries/delivery-selection.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/** Deliveries of a tenant that were received since a time. With `agent_ids`, only those that were addressed to these agents. */
type Since = { readonly tenant_id: string; readonly from: string; readonly agent_ids?: readonly string[] | undefined };

const received = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .groupBy('delivery.agent_id')
    .select(({ fn, cast }) => [
      'delivery.agent_id',
      cast<number>(fn.countAll(), 'integer').as('deliveries'),
      fn.max('delivery.received_at').as('last_at'),
    ]),
);

/** What an agent has received since a time. */
export type Received = { readonly agent_id: string; readonly deliveries: number; readonly last_at: string };

/** Returns what the agents of a tenant have received. Agents without a delivery are absent. */
export const receivedByAgent = (reads: QueryReads, args: Since): Promise<Received[]> => reads.rows(received, args) as Promise<Received[]>;

type GivenUpArgs = { readonly tenant_id: string; readonly given_up_from: string };

const givenUp = defineQuery((db, args: GivenUpArgs) =>
  selectDeliveries(db, args)
    .groupBy('delivery.agent_id')
    .select(({ fn, cast }) => ['delivery.agent_id', cast<number>(fn.countAll(), 'integer').as('count')]),
);

/** Returns how many deliveries to each agent were given up since a time, whenever they were received. */
export const givenUpByAgent = async (reads: QueryReads, args: GivenUpArgs): Promise<{ agent_id: string; count: number }[]> =>
  (await reads.rows(givenUp, args)).map(({ agent_id, count }) => ({ agent_id: agent_id!, count }));

const queued = defineQuery((db, { tenant_id }: { readonly tenant_id: string }) =>
  selectDeliveries(db, { tenant_id })
    .where(({ eb, or }) => or([eb('delivery.unsettled', 'is not', null), eb('delivery.held_at', 'is not', null)]))
    .select(({ fn, cast }) => [
      fn.coalesce('delivery.message_agent_id', 'delivery.agent_id').as('runner_of'),
      cast<number>(fn.countAll(), 'integer').as('count'),
    ])
    .groupBy('runner_of'),
);

/** Returns how many deliveries of each agent are neither acknowledged nor given up. Agents without any are absent. */
export const queueByAgent = async (reads: QueryReads, tenant_id: string): Promise<{ agent_id: string; count: number }[]> =>
  (await reads.rows(queued, { tenant_id })).map(({ runner_of, count }) => ({ agent_id: runner_of!, count }));

const receivedByHour = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .select(({ fn, cast }) => [
      'delivery.agent_id',
      sql<number>`floor(extract(epoch from delivery.received_at - ${args.from}::timestamptz)::float8 / 3600)::integer`.as('hour'),
      cast<number>(fn.countAll(), 'integer').as('count'),
    ])
    .groupBy(['delivery.agent_id', 'hour']),
);

/** Counts what some agents have received in each hour since a time. `hour` is the index of the hour. */
export const hoursByAgent = async (
  reads: QueryReads,
  args: Since & { readonly agent_ids: readonly string[] },
): Promise<{ agent_id: string; hour: number; count: number }[]> =>
  args.agent_ids.length === 0
    ? []
    : (await reads.rows(receivedByHour, args)).map(({ agent_id, hour, count }) => ({ agent_id: agent_id!, hour, count }));
