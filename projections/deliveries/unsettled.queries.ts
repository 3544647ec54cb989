import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/**
 * Selects the messages of deliveries that were received at or after `since`. `through` is the sort key of the log
 * position up to which messages are selected.
 */
export type UnsettledRange = { readonly through: string; readonly since: string };

const publishedBefore = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('deliveries.publications as publication')
    .select('publication.place')
    .where('publication.published_at', '<=', at)
    .orderBy('publication.recorded', 'desc')
    .limit(({ lit }) => lit(1)),
);

/** Returns the sort key of the log position up to which messages were published at the time `at`; null if none was. */
export const publishedThroughAt = async (reads: QueryReads, at: string): Promise<string | null> =>
  (await reads.rows(publishedBefore, { at }))[0]?.place ?? null;

const countsByAgent = defineQuery((db, { through, since }: UnsettledRange) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(['delivery.tenant_id', 'delivery.message_agent_id as agent_id'])
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count'))
    .select(({ fn, cast }) => cast<number>(fn.countAll().filterWhere('delivery.unsettled', '<=', through), 'integer').as('due'))
    .where('delivery.unsettled', 'is not', null)
    .where('delivery.received_at', '>=', since)
    .groupBy(['delivery.tenant_id', 'delivery.message_agent_id']),
);

/** `due`: how many of the `count` messages are in the range, and not after it. */
export type UnsettledCount = { readonly tenant_id: string; readonly agent_id: string; readonly count: number; readonly due: number };

/** Returns for each agent the number of messages that are neither acknowledged nor given up, also of those after the range. */
export const unsettledCounts = async (reads: QueryReads, range: UnsettledRange): Promise<UnsettledCount[]> =>
  (await reads.rows(countsByAgent, range)) as UnsettledCount[];

const PAGE_SIZE = 1_000;

type PageArgs = UnsettledRange & {
  readonly tenant_id: string;
  readonly agent_id: string;
  readonly after: string;
};

/**
 * Selects one page of messages. No two messages have the same place, so a page starts after the place of the last
 * message of the previous page.
 */
const messagePage = defineQuery((db, { tenant_id, agent_id, through, since, after }: PageArgs) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select(['delivery.id', 'delivery.message_id', 'delivery.unsettled as place'])
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.message_agent_id', '=', agent_id)
    .where('delivery.unsettled', '>', after)
    .where('delivery.unsettled', '<=', through)
    .where('delivery.received_at', '>=', since)
    .orderBy('delivery.unsettled')
    .limit(({ lit }) => lit(PAGE_SIZE)),
);

/** A message that is neither acknowledged nor given up. `place` is the sort key of its log position. */
export type UnsettledMessage = { readonly id: string; readonly message_id: string; readonly place: string };

/** Yields the unsettled messages of an agent in the order of the log, page by page. */
export async function* unsettledMessages(
  reads: QueryReads,
  args: UnsettledRange & { readonly tenant_id: string; readonly agent_id: string },
): AsyncGenerator<readonly UnsettledMessage[]> {
  for (let after = ''; ; ) {
    const page = (await reads.rows(messagePage, { ...args, after })) as UnsettledMessage[];
    if (page.length > 0) yield page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)!.place;
  }
}
