import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The maximum number of messages in one query. */
export const MAX_ASKED_MESSAGES = 100;

/** Messages of persons to one agent. `event_ids` are the ids of their events. */
type Asked = { readonly tenant_id: string; readonly agent_id: string; readonly event_ids: readonly string[] };

const settledMessages = defineQuery((db, { tenant_id, agent_id, event_ids }: Asked) =>
  db
    .selectFrom('sessions.settled_messages as message')
    .select(['message.event_id', 'message.outcome'])
    .where('message.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('message.event_id', '=', fn.any(val(event_ids))))
    .where('message.agent_id', '=', agent_id)
    .limit(({ lit }) => lit(MAX_ASKED_MESSAGES)),
);

/** Returns the settled ones of these messages, in no particular order. */
export const settledAmong = async (
  reads: Pick<Reads, 'rows'>,
  asked: Asked,
): Promise<{ readonly event_id: string; readonly outcome: string }[]> => {
  const found: { readonly event_id: string; readonly outcome: string }[] = [];
  for (let at = 0; at < asked.event_ids.length; at += MAX_ASKED_MESSAGES) {
    const rows = await reads.rows(settledMessages, { ...asked, event_ids: asked.event_ids.slice(at, at + MAX_ASKED_MESSAGES) });
    found.push(...rows.map(({ event_id, outcome }) => ({ event_id, outcome: outcome! })));
  }
  return found;
};
