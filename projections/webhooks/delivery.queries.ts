import type { z } from 'zod';
import { comparePositions, type Position } from '../../domain/event.ts';
import { REPLAY_WINDOW_MS } from '../../domain/webhooks/replay-guard.ts';
import { latestEntry, positionOfEvent } from '../audit/audit-log.queries.ts';
import type { Condition, Page, PageQuery, Reads, Source } from '../read-model.ts';
import { type DeliveryDetailRow, type DeliveryRead, deliveries, type OUTCOMES, table } from './delivery.ts';

const from: Source = { projection: deliveries.name, table };

type ListDoc = z.output<typeof DeliveryRead>;
type DetailDoc = z.output<typeof DeliveryDetailRow>;

/**
 * Selects the deliveries of one integration. If `marksReplays` is true, body replays are marked: known bodies under
 * another delivery id.
 */
export type IntegrationRef = { readonly tenant_id: string; readonly integration_id: string; readonly marksReplays: boolean };

export type DeliveryFilter = {
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

const equal = (column: string, value: string): Condition => ({ column, op: '=', value });
const received = (op: '>=' | '<=' | '<', value: string | undefined): Condition[] =>
  value === undefined ? [] : [{ column: 'received_at', op, value }];

/** Whether the same body came to the integration before, under another delivery id and within the replay window. */
const isReplay = async (
  reads: Reads,
  { tenant_id, integration_id, marksReplays }: IntegrationRef,
  { id, sha256, received_at }: ListDoc,
): Promise<boolean> => {
  if (!marksReplays || sha256 === null) return false;
  const since = new Date(Date.parse(received_at) - REPLAY_WINDOW_MS).toISOString();
  const { body } = await reads.page({
    from,
    doc: 'list_doc',
    where: [
      equal('tenant_id', tenant_id),
      equal('integration_id', integration_id),
      equal('sha256', sha256),
      ...received('>=', since),
      ...received('<=', received_at),
    ],
    sort: { column: 'received_at', descending: false },
    limit: 1,
  });
  const [first] = JSON.parse(body) as ListDoc[];
  return first !== undefined && first.id !== id;
};

/** Sets `replay_suspect`, which marks a body replay. */
export const withReplayMark = async <T extends ListDoc>(reads: Reads, integration: IntegrationRef, delivery: T): Promise<T> => ({
  ...delivery,
  replay_suspect: await isReplay(reads, integration, delivery),
});

/**
 * Returns a page of the deliveries of an integration, with body replays marked. The filter time `from` is inclusive,
 * `to` is exclusive.
 */
export const deliveryPage = async (
  reads: Reads,
  integration: IntegrationRef,
  filter: DeliveryFilter,
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> => {
  const page = await reads.page({
    from,
    doc: 'list_doc',
    where: [
      equal('tenant_id', integration.tenant_id),
      equal('integration_id', integration.integration_id),
      ...(filter.outcome === undefined ? [] : [equal('outcome', filter.outcome)]),
      ...received('>=', filter.from),
      ...received('<', filter.to),
    ],
    ...window,
  });
  const listed = JSON.parse(page.body) as ListDoc[];
  return { ...page, body: JSON.stringify(await Promise.all(listed.map((delivery) => withReplayMark(reads, integration, delivery)))) };
};

/** A delivery without its payload, and without the mark for body replays. `revision` is the revision of its stream. */
export type FoundDelivery = { readonly delivery: DetailDoc; readonly revision: number | null };

/** Finds one delivery; null if it does not exist. Use `withReplayMark` to mark a body replay. */
export const deliveryById = async (reads: Reads, tenant_id: string, id: string): Promise<FoundDelivery | null> => {
  const found = await reads.one(from, { tenant_id, id });
  return found && { delivery: JSON.parse(found.doc) as DetailDoc, revision: found.revision };
};

/** The assumed maximum difference between the clocks of two processes. */
const MAX_CLOCK_SKEW_MS = 60_000;
const PAGE_SIZE = 50;
/** How many of the latest deliveries are searched for one that was signed with the previous secret. */
const MAX_EXAMINED = 1_000;

type LastDeliveries = { readonly last_delivery_at: string | null; readonly last_delivery_on_previous_secret_at: string | null };

/**
 * Returns when the last delivery came to an integration, and the last one that was signed with the previous secret.
 * Both up to the log position `until`, which is compared with the positions in the audit log. `usedPreviousSecret` must
 * be true if any delivery until now was signed with a previous secret. If it is false, the search for such a delivery
 * is skipped.
 */
export const lastDeliveriesUntil = async (
  reads: Reads,
  { tenant_id, integration_id }: Pick<IntegrationRef, 'tenant_id' | 'integration_id'>,
  until: Position,
  usedPreviousSecret: boolean,
): Promise<LastDeliveries> => {
  const newest = await latestEntry(reads, tenant_id, until);
  const end = new Date(Date.parse(newest?.at ?? '1970-01-01T00:00:00Z') + MAX_CLOCK_SKEW_MS).toISOString();
  const verified: Condition = { column: 'outcome', op: 'in', value: ['accepted', 'blocked', 'dead'] };
  const where = [equal('tenant_id', tenant_id), equal('integration_id', integration_id), verified, ...received('<=', end)];
  const query = { from, doc: 'doc', where, sort: { column: 'received_at', descending: true }, limit: PAGE_SIZE };
  let last: string | null = null;
  for (let cursor: string | null | undefined, examined = 0; cursor !== null && examined < MAX_EXAMINED; examined += PAGE_SIZE) {
    const page: Page = await reads.page({ ...query, cursor });
    const candidates = (JSON.parse(page.body) as DetailDoc[]).filter(
      ({ matched_secret }) => last === null || matched_secret === 'previous',
    );
    const positions = await Promise.all(candidates.map(({ causation }) => positionOfEvent(reads, causation[0]!.event_id)));
    for (const [n, { received_at, matched_secret }] of candidates.entries()) {
      const position = positions[n];
      if (!position || comparePositions(position, until) > 0) continue;
      last ??= received_at;
      if (!usedPreviousSecret || matched_secret === 'previous')
        return { last_delivery_at: last, last_delivery_on_previous_secret_at: matched_secret === 'previous' ? received_at : null };
    }
    cursor = page.next;
  }
  return { last_delivery_at: last, last_delivery_on_previous_secret_at: null };
};
