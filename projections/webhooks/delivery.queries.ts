import type { z } from 'zod';
import { comparePositions, type Position } from '../../domain/event.ts';
import { REPLAY_WINDOW_MS } from '../../domain/webhooks/replay-guard.ts';
import { latestEntry, positionOfEvent } from '../audit/audit-log.queries.ts';
import type { Condition, Page, PageQuery, Reads, Source } from '../read-model.ts';
import { type DeliveryDetailRow, type DeliveryRead, deliveries, type OUTCOMES, table } from './delivery.ts';

const from: Source = { projection: deliveries.name, table };

type Listed = z.output<typeof DeliveryRead>;
type Detailed = z.output<typeof DeliveryDetailRow>;

/** Whose deliveries are asked for, and whether a body that came before is remarkable to its owner. */
export type IntegrationRef = { readonly tenant_id: string; readonly integration_id: string; readonly marks: boolean };

export type DeliveryFilter = {
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

const equal = (column: string, value: string): Condition => ({ column, op: '=', value });
const received = (op: '>=' | '<=' | '<', value: string | undefined): Condition[] =>
  value === undefined ? [] : [{ column: 'received_at', op, value }];

/** Whether the same body came under another delivery id within the days in which a provider sends again. */
const isReplay = async (
  reads: Reads,
  { tenant_id, integration_id, marks }: IntegrationRef,
  { id, sha256, received_at }: Listed,
): Promise<boolean> => {
  if (!marks || sha256 === null) return false;
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
  const [first] = JSON.parse(body) as Listed[];
  return first !== undefined && first.id !== id;
};

const marked = async <T extends Listed>(reads: Reads, hook: IntegrationRef, delivery: T): Promise<T> => ({
  ...delivery,
  replay_suspect: await isReplay(reads, hook, delivery),
});

/** A page of what came to one hook, newest first, `from` inclusive, `to` exclusive. */
export const deliveryPage = async (
  reads: Reads,
  hook: IntegrationRef,
  filter: DeliveryFilter,
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> => {
  const page = await reads.page({
    from,
    doc: 'list_doc',
    where: [
      equal('tenant_id', hook.tenant_id),
      equal('integration_id', hook.integration_id),
      ...(filter.outcome === undefined ? [] : [equal('outcome', filter.outcome)]),
      ...received('>=', filter.from),
      ...received('<', filter.to),
    ],
    ...window,
  });
  const listed = JSON.parse(page.body) as Listed[];
  return { ...page, body: JSON.stringify(await Promise.all(listed.map((delivery) => marked(reads, hook, delivery)))) };
};

/** A delivery but for its payload, and the revision of its stream. */
export type FoundDelivery = { readonly delivery: Detailed; readonly revision: number | null };

/** One delivery but for its payload, and not marked: `markedDelivery` does that. */
export const deliveryById = async (reads: Reads, tenant_id: string, id: string): Promise<FoundDelivery | null> => {
  const found = await reads.one(from, { tenant_id, id });
  return found && { delivery: JSON.parse(found.doc) as Detailed, revision: found.revision };
};

/** The delivery, marked where its body came before. */
export const markedDelivery = (reads: Reads, hook: IntegrationRef, delivery: Detailed): Promise<Detailed> => marked(reads, hook, delivery);

/** Clocks of two processes differ by less. */
const SKEW_MS = 60_000;
const PAGE = 50;
/** So many deliveries are looked through for the last one that was signed with a secret that had been replaced. */
const MAX_EXAMINED = 1_000;

type LastDeliveries = { readonly last_delivery_at: string | null; readonly last_delivery_on_previous_secret_at: string | null };

/**
 * When deliveries came last to a hook, up to a position, as the rows of deliveries say, each placed in the log by its audit line.
 * `everOnPrevious`: whether any came on a replaced secret until today.
 */
export const lastDeliveriesUntil = async (
  reads: Reads,
  tenant_id: string,
  integration_id: string,
  until: Position,
  everOnPrevious: boolean,
): Promise<LastDeliveries> => {
  const newest = await latestEntry(reads, tenant_id, until);
  const end = new Date(Date.parse(newest?.at ?? '1970-01-01T00:00:00Z') + SKEW_MS).toISOString();
  const taken: Condition = { column: 'outcome', op: 'in', value: ['accepted', 'blocked', 'dead'] };
  const where = [equal('tenant_id', tenant_id), equal('integration_id', integration_id), taken, ...received('<=', end)];
  const query = { from, doc: 'doc', where, sort: { column: 'received_at', descending: true }, limit: PAGE };
  let last: string | null = null;
  for (let cursor: string | null | undefined, looked = 0; cursor !== null && looked < MAX_EXAMINED; looked += PAGE) {
    const page: Page = await reads.page({ ...query, cursor });
    const wanted = (JSON.parse(page.body) as Detailed[]).filter(({ matched_secret }) => last === null || matched_secret === 'previous');
    const places = await Promise.all(wanted.map(({ causation }) => positionOfEvent(reads, causation[0]!.event_id)));
    for (const [n, { received_at, matched_secret }] of wanted.entries()) {
      const place = places[n];
      if (!place || comparePositions(place, until) > 0) continue;
      last ??= received_at;
      if (!everOnPrevious || matched_secret === 'previous')
        return { last_delivery_at: last, last_delivery_on_previous_secret_at: matched_secret === 'previous' ? received_at : null };
    }
    cursor = page.next;
  }
  return { last_delivery_at: last, last_delivery_on_previous_secret_at: null };
};
