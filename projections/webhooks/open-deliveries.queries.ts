import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import type { OpenMessage } from './delivery-states.ts';

/** Only this many open deliveries of a tenant are searched for agents: those that have waited longest. */
const MAX_EXAMINED = 20_000;
/** The maximum number of agents whose queues are read for one request. */
export const MAX_AGENTS = 100;

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

const openQueuesOfAll = defineQuery((db, _: Readonly<Record<string, never>>) =>
  db
    .selectFrom(
      db
        .selectFrom('deliveries.deliveries as delivery')
        .select(['delivery.tenant_id', 'delivery.message_agent_id as agent_id', 'delivery.unsettled', 'delivery.received_at'])
        .where('delivery.unsettled', 'is not', null)
        .orderBy('delivery.unsettled')
        .limit(({ lit }) => lit(MAX_EXAMINED))
        .as('open'),
    )
    .select(({ fn, cast }) => [
      'open.tenant_id',
      'open.agent_id',
      cast<number>(fn.countAll(), 'integer').as('count'),
      fn.min('open.received_at').as('since'),
    ])
    .groupBy(['open.tenant_id', 'open.agent_id'])
    .orderBy(({ fn }) => fn.min('open.unsettled'))
    .limit(({ lit }) => lit(MAX_AGENTS)),
);

/** The open deliveries whose last messages one agent gets: how many they are, and when the oldest was received. */
export type OpenQueue = { readonly tenant_id: string; readonly agent_id: string; readonly count: number; readonly since: string };

/**
 * Returns the queues of all tenants: of at most MAX_AGENTS agents, those whose deliveries have waited longest, and of the
 * MAX_EXAMINED deliveries that have waited longest.
 */
export const openQueuesOfAllTenants = async (reads: Pick<Reads, 'rows'>): Promise<readonly OpenQueue[]> =>
  (await reads.rows(openQueuesOfAll, {})).flatMap(({ tenant_id, agent_id, count, since }) =>
    tenant_id && agent_id && since ? [{ tenant_id, agent_id, count, since }] : [],
  );
