import type { z } from 'zod';
import { REPLAY_WINDOW_MS } from '../domain/replay.ts';
import { type DeliveryDetailRow, type DeliveryRead, deliveries, type OUTCOMES, table } from './delivery.ts';
import type { Condition, Page, PageQuery, Reads, Source } from './reads.ts';

const from: Source = { projection: deliveries.name, table };

type Listed = z.output<typeof DeliveryRead>;
type Detailed = z.output<typeof DeliveryDetailRow>;

/** Whose deliveries are asked for, and whether a body that came before is remarkable to its owner. */
export type Hook = { readonly tenant_id: string; readonly integration_id: string; readonly marks: boolean };

export type DeliveryFilter = {
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

const equal = (column: string, value: string): Condition => ({ column, op: '=', value });
const between = (first: string | undefined, last: string | undefined): Condition[] => [
  ...(first === undefined ? [] : [{ column: 'received_at', op: '>=', value: first } as const]),
  ...(last === undefined ? [] : [{ column: 'received_at', op: '<=', value: last } as const]),
];

/** Whether the same body came under another delivery id within the days in which a provider sends again. */
const isReplay = async (
  reads: Reads,
  { tenant_id, integration_id, marks }: Hook,
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
      ...between(since, received_at),
    ],
    sort: { column: 'received_at', descending: false },
    limit: 1,
  });
  const [first] = JSON.parse(body) as Listed[];
  return first !== undefined && first.id !== id;
};

const marked = async <T extends Listed>(reads: Reads, hook: Hook, delivery: T): Promise<T> => ({
  ...delivery,
  replay_suspect: await isReplay(reads, hook, delivery),
});

/** A page of what came to one hook, newest first. */
export const deliveryPage = async (
  reads: Reads,
  hook: Hook,
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
      ...between(filter.from, filter.to),
    ],
    ...window,
  });
  const listed = JSON.parse(page.body) as Listed[];
  return { ...page, body: JSON.stringify(await Promise.all(listed.map((delivery) => marked(reads, hook, delivery)))) };
};

/** One delivery but for its payload; `hookOf` says how its hook takes replays. */
export const deliveryById = async (
  reads: Reads,
  tenant_id: string,
  id: string,
): Promise<{ readonly delivery: Detailed; readonly revision: number | null } | null> => {
  const found = await reads.one(from, { tenant_id, id });
  return found && { delivery: JSON.parse(found.doc) as Detailed, revision: found.revision };
};

/** The delivery, marked where its body came before. */
export const markedDelivery = (reads: Reads, hook: Hook, delivery: Detailed): Promise<Detailed> => marked(reads, hook, delivery);
