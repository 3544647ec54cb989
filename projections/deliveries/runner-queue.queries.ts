import type { z } from 'zod';
import { defineQuery } from '../query.ts';
import { byKey, type Reads, type Source } from '../read-model.ts';
import { type DeliveryDetailRow, deliveries, table } from './delivery.ts';
import { messageStart } from './message-start.ts';

const from: Source<typeof table> = { projection: deliveries.name, table };

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

const unpublished = defineQuery((db, { tenant_id, agent_id, after }: AgentRef & { after: string }) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count'))
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.message_agent_id', '=', agent_id)
    .where('delivery.unsettled', '>', after),
);

/**
 * Returns the number of messages to an agent that are neither acknowledged nor given up. Counts only messages whose
 * events come after the sort key `after`.
 */
export const messagesAfter = async (reads: Reads, agent: AgentRef, after: string): Promise<number> =>
  ((await reads.rows(unpublished, { ...agent, after })) as { count: number }[])[0]?.count ?? 0;

const firstUnsettled = defineQuery((db, { tenant_id, agent_id, since }: AgentRef & { since: string }) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(messageStart('delivery').as('started_at'))
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.message_agent_id', '=', agent_id)
    .where('delivery.unsettled', '>=', since)
    .orderBy('delivery.unsettled')
    .limit(({ lit }) => lit(1)),
);

/**
 * Returns when an agent's oldest message that is neither acknowledged nor given up was started. Messages whose events come before the sort key `since` are
 * ignored. Null if there is no such message.
 */
export const firstMessageAt = async (reads: Reads, agent: AgentRef, since: string): Promise<string | null> =>
  (await reads.rows(firstUnsettled, { ...agent, since }))[0]?.started_at ?? null;

type DetailDoc = z.output<typeof DeliveryDetailRow>;

const lastDone = defineQuery((db, { tenant_id, agent_id }: AgentRef) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.agent_id', '=', agent_id)
    .where('delivery.status', '=', 'done')
    .where('delivery.message_agent_id', '=', agent_id)
    .orderBy('delivery.received_at', 'desc')
    .limit(({ lit }) => lit(1)),
);

/** Returns when a runner acknowledged the finished delivery of an agent that was received last. Null if there is none. */
export const lastAcknowledgedAt = async (reads: Reads, agent: AgentRef): Promise<string | null> => {
  const [last] = (await reads.rows(lastDone, agent)) as { id: string }[];
  return last ? ((await byKey<DetailDoc>(reads, from, { tenant_id: agent.tenant_id, id: last.id }))?.acknowledged_at ?? null) : null;
};
