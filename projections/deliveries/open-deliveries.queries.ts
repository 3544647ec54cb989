import type { Kysely } from 'kysely';
import type { Database } from '../database.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import type { OpenMessage } from './delivery-states.ts';
import { messageStart } from './message-start.ts';
import { isOfWorkingAgent } from './working-agent.ts';

/** Only this many open deliveries of a tenant, or of all tenants, are searched for agents: those that have waited longest. */
const MAX_EXAMINED = 20_000;
/** The maximum number of agents whose queues are read for one request. */
const MAX_AGENTS = 100;

const openMessageRows = defineQuery((db, { tenant_id, ids }: { readonly tenant_id: string; readonly ids: readonly string[] }) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('delivery.id', '=', fn.any(val(ids))))
    .select(['delivery.id', 'delivery.message_agent_id', 'delivery.unsettled', 'delivery.retry_at']),
);

/** Returns the unsettled last messages of these deliveries by the delivery's id. */
export const openMessages = async (reads: Reads, tenant_id: string, ids: readonly string[]): Promise<ReadonlyMap<string, OpenMessage>> => {
  if (ids.length === 0) return new Map();
  const rows = await reads.rows(openMessageRows, { tenant_id, ids });
  return new Map(
    rows.flatMap(({ id, message_agent_id, unsettled, retry_at }) =>
      id && message_agent_id && unsettled ? [[id, { message_agent_id, place: unsettled, retry_at }] as const] : [],
    ),
  );
};

/** `agent_id` and `agent_ids` select deliveries that were addressed to these agents. */
type OpenArgs = {
  readonly tenant_id: string;
  readonly agent_id?: string | undefined;
  readonly agent_ids?: readonly string[] | undefined;
};

const openAgentRows = defineQuery((db, { tenant_id, agent_id, agent_ids }: OpenArgs) =>
  db
    .selectFrom(
      db
        .selectFrom('deliveries.deliveries as delivery')
        .select(['delivery.message_agent_id as agent_id', 'delivery.unsettled'])
        .where('delivery.tenant_id', '=', tenant_id)
        .where('delivery.unsettled', 'is not', null)
        .$if(agent_id !== undefined, (query) => query.where('delivery.agent_id', '=', agent_id!))
        .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('delivery.agent_id', '=', fn.any(val(agent_ids!)))))
        .orderBy('delivery.unsettled')
        .limit(({ lit }) => lit(MAX_EXAMINED))
        .as('open'),
    )
    .select('open.agent_id')
    .groupBy('open.agent_id')
    .orderBy(({ fn }) => fn.min('open.unsettled'))
    .limit(({ lit }) => lit(MAX_AGENTS)),
);

/**
 * Returns the agents whose runners got the last messages of open deliveries: at most MAX_AGENTS, those whose deliveries
 * have waited longest.
 */
export const openAgents = async (reads: Pick<Reads, 'rows'>, args: OpenArgs): Promise<readonly string[]> =>
  (await reads.rows(openAgentRows, args)).flatMap(({ agent_id }) => agent_id ?? []);

/** Open deliveries of all tenants, except of those that are suspended or closed, and except those for deleted agents. */
const openOfAll = (db: Kysely<Database>) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(['delivery.tenant_id', 'delivery.message_agent_id as agent_id', 'delivery.unsettled'])
    .where('delivery.unsettled', 'is not', null)
    .where(isOfWorkingAgent('message_agent_id'))
    .orderBy('delivery.unsettled')
    .limit(({ lit }) => lit(MAX_EXAMINED));

const openQueuesOfAll = defineQuery((db, _: Readonly<Record<string, never>>) =>
  db
    .selectFrom(
      db
        .selectFrom(openOfAll(db).as('open'))
        .select(({ fn, cast }) => [
          'open.tenant_id',
          'open.agent_id',
          cast<number>(fn.countAll(), 'integer').as('count'),
          fn.min('open.unsettled').as('first'),
        ])
        .groupBy(['open.tenant_id', 'open.agent_id'])
        .orderBy(({ fn }) => fn.min('open.unsettled'))
        .limit(({ lit }) => lit(MAX_AGENTS + 1))
        .as('queue'),
    )
    .innerJoin('deliveries.deliveries as first', (join) =>
      join.onRef('first.tenant_id', '=', 'queue.tenant_id').onRef('first.unsettled', '=', 'queue.first'),
    )
    .select(['queue.tenant_id', 'queue.agent_id', 'queue.count', messageStart('first').as('since')])
    .orderBy('queue.first'),
);

/** The open deliveries whose last messages one agent gets: how many they are, and when the oldest message was started. */
export type OpenQueue = { readonly tenant_id: string; readonly agent_id: string; readonly count: number; readonly since: string };

/** `hasMore`: there may be more agents or deliveries than were examined. */
export type OpenQueues = { readonly queues: readonly OpenQueue[]; readonly hasMore: boolean };

/**
 * Returns the queues of all tenants that are neither suspended nor closed: of at most MAX_AGENTS agents, those whose
 * deliveries have waited longest, and of the MAX_EXAMINED deliveries that have waited longest.
 */
export const openQueuesOfAllTenants = async (reads: Pick<Reads, 'rows'>): Promise<OpenQueues> => {
  const found = (await reads.rows(openQueuesOfAll, {})).flatMap(({ tenant_id, agent_id, count, since }) =>
    tenant_id && agent_id && count && since ? [{ tenant_id, agent_id, count, since }] : [],
  );
  const examined = found.reduce((sum, { count }) => sum + count, 0);
  return { queues: found.slice(0, MAX_AGENTS), hasMore: found.length > MAX_AGENTS || examined >= MAX_EXAMINED };
};
