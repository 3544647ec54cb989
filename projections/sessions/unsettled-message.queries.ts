import type { UnsettledCount, UnsettledRange } from '../deliveries/unsettled.queries.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

const countsByAgent = defineQuery((db, { through, since }: UnsettledRange) =>
  db
    .selectFrom('sessions.unsettled_messages as message')
    .select(['message.tenant_id', 'message.agent_id'])
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count'))
    .select(({ fn, cast }) => cast<number>(fn.countAll().filterWhere('message.place', '<=', through), 'integer').as('due'))
    .where('message.sent_at', '>=', since)
    .groupBy(['message.tenant_id', 'message.agent_id']),
);

/** Returns for each agent the number of messages of sessions that are neither acknowledged nor given up. */
export const unsettledSessionCounts = async (reads: QueryReads, range: UnsettledRange): Promise<UnsettledCount[]> =>
  (await reads.rows(countsByAgent, range)) as UnsettledCount[];

const PAGE_SIZE = 1_000;

type PageArgs = UnsettledRange & { readonly tenant_id: string; readonly agent_id: string; readonly after: string };

const messagePage = defineQuery((db, { tenant_id, agent_id, through, since, after }: PageArgs) =>
  db
    .selectFrom('sessions.unsettled_messages as message')
    .select(['message.session_id', 'message.event_id', 'message.event_revision', 'message.message_id', 'message.place'])
    .where('message.tenant_id', '=', tenant_id)
    .where('message.agent_id', '=', agent_id)
    .where('message.place', '>', after)
    .where('message.place', '<=', through)
    .where('message.sent_at', '>=', since)
    .orderBy('message.place')
    .limit(({ lit }) => lit(PAGE_SIZE)),
);

/**
 * `event_id` and `event_revision`: of the event of the session; `message_id`: of the last event for which the relay has published it, whose
 * log position has the sort key `place`.
 */
export type UnsettledSessionMessage = {
  readonly session_id: string;
  readonly event_id: string;
  readonly event_revision: number;
  readonly message_id: string;
  readonly place: string;
};

/** Yields the unsettled messages of an agent's sessions in the order of the log, page by page. */
export async function* unsettledSessionMessages(
  reads: QueryReads,
  args: UnsettledRange & { readonly tenant_id: string; readonly agent_id: string },
): AsyncGenerator<readonly UnsettledSessionMessage[]> {
  for (let after = ''; ; ) {
    const page = (await reads.rows(messagePage, { ...args, after })) as UnsettledSessionMessage[];
    if (page.length > 0) yield page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)!.place;
  }
}
