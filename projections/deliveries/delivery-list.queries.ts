import type { z } from 'zod';
import type { PreviewField } from '../../domain/deliveries/payload-preview.ts';
import { REPLAY_WINDOW_MS } from '../../domain/deliveries/replay-guard.ts';
import { omit } from '../../domain/omit.ts';
import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { type DeliveryListRow, type DeliveryRead, table } from './delivery.ts';
import { withRedeliveries } from './delivery-redeliveries.ts';
import { type LastFailure, lastFailureOf, type OpenTexts } from './delivery-reports.ts';
import { isPublishedState, isPublishedStatus, type SelectedDeliveries, selectDeliveries, selectionArgs } from './delivery-selection.ts';
import type { shownFields } from './delivery-shown.ts';

const deliveryList = defineList({ table, doc: 'list_doc' }, selectDeliveries);

/** The replay window as the arguments of `make_interval`: years, months, weeks, days, and hours. */
const REPLAY_INTERVAL = [0, 0, 0, 0, REPLAY_WINDOW_MS / 3_600_000];

type Listed = { readonly tenant_id: string; readonly ids: readonly string[] };

const marks = defineQuery((db, { tenant_id, ids }: Listed) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('delivery.id', '=', fn.any(val(ids))))
    .select('delivery.id')
    .select(({ eb, exists, selectFrom, lit }) => [
      selectFrom('deliveries.publications as publication')
        .whereRef('publication.place', '>=', 'delivery.place')
        .select('publication.published_at')
        .orderBy('publication.place')
        .limit(lit(1))
        .as('published_at'),
      eb(
        'delivery.place',
        '<=',
        selectFrom('deliveries.publications as last').select('last.place').orderBy('last.recorded', 'desc').limit(lit(1)),
      ).as('is_published'),
      exists(
        selectFrom('deliveries.deliveries as earlier')
          .whereRef('earlier.tenant_id', '=', 'delivery.tenant_id')
          .whereRef('earlier.integration_id', '=', 'delivery.integration_id')
          .whereRef('earlier.sha256', '=', 'delivery.sha256')
          .where(({ eb, fn, lit }) =>
            eb('earlier.received_at', '>=', eb('delivery.received_at', '-', fn<string>('make_interval', REPLAY_INTERVAL.map(lit)))),
          )
          .where(({ eb, refTuple }) =>
            eb(refTuple('earlier.received_at', 'earlier.id'), '<', refTuple('delivery.received_at', 'delivery.id')),
          )
          .select('earlier.id'),
      ).as('is_replay'),
    ]),
);

export type DeliveryMark = { readonly published_at: string | null; readonly is_published: boolean; readonly is_replay: boolean };

/**
 * Returns the data of these deliveries that their documents leave out: whether and when the message was published, and
 * whether the integration received the same body before, within the replay window.
 */
export const deliveryMarks = async (reads: Reads, tenant_id: string, ids: readonly string[]): Promise<ReadonlyMap<string, DeliveryMark>> =>
  new Map((await reads.rows(marks, { tenant_id, ids })).map(({ id, ...mark }) => [id, mark as DeliveryMark]));

const NO_MARKS: ReadonlyMap<string, DeliveryMark> = new Map();

type ListDoc = Omit<z.output<typeof DeliveryRead>, 'preview' | keyof typeof shownFields> & {
  readonly preview: readonly PreviewField[] | null;
};
type StoredDoc = z.output<typeof DeliveryListRow>;

const listDocs = defineQuery((db, { tenant_id, ids }: Listed) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('delivery.id', '=', fn.any(val(ids))))
    .select(['delivery.id', 'delivery.list_doc']),
);

/** Returns the last reported failures of these deliveries, by their ids. A delivery without a report is missing. */
export const lastFailures = async (
  reads: Reads,
  { tenant_id, ids }: Listed,
  openTexts: OpenTexts,
): Promise<ReadonlyMap<string, LastFailure>> => {
  if (ids.length === 0) return new Map();
  const rows = await reads.rows(listDocs, { tenant_id, ids });
  const found = await Promise.all(
    rows.map(async ({ id, list_doc }) => [id!, await lastFailureOf(JSON.parse(list_doc!) as StoredDoc, openTexts)] as const),
  );
  return new Map(found.flatMap(([id, failure]) => (failure ? [[id, failure] as const] : [])));
};

export type MarksReplays = (integration_id: string) => boolean | Promise<boolean>;

/** Returns the previews of the payloads of deliveries, by their ids. */
export type Previews = (ids: readonly string[]) => Promise<ReadonlyMap<string, readonly PreviewField[]>>;

const noPreviews: Previews = async () => new Map();

/** Reads what no read model has in clear text. */
export type ListTexts = { readonly previews?: Previews | undefined; readonly openTexts: OpenTexts };

/**
 * Returns a page of deliveries with their status and previews, and with body replays marked. This takes two queries,
 * regardless of the number of deliveries. A published delivery gets the status `queued`, because only the broker knows
 * whether a runner has it.
 */
export const deliveryPage = async (
  reads: Reads,
  selected: SelectedDeliveries,
  marksReplays: MarksReplays,
  window: PageWindow,
  { previews = noPreviews, openTexts }: ListTexts,
): Promise<Page> => {
  const { status, state } = selected;
  const page = await reads.page(deliveryList, selectionArgs(selected), window);
  const found = JSON.parse(page.body) as StoredDoc[];
  const marked = await Promise.all(found.map(({ sha256, integration_id }) => sha256 !== null && marksReplays(integration_id)));
  const ids = found.filter((delivery, n) => marked[n] || delivery.status === 'waiting').map(({ id }) => id);
  const verified = found.filter(({ sha256 }) => sha256 !== null).map(({ id }) => id);
  const [markOf, previewOf] = await Promise.all([
    ids.length > 0 ? deliveryMarks(reads, selected.tenant_id, ids) : NO_MARKS,
    previews(verified),
  ]);
  const failures = await Promise.all(found.map((delivery) => lastFailureOf(delivery, openTexts)));
  const complete = (whole: StoredDoc, n: number): ListDoc => {
    const stored = omit(whole, 'place', 'last_report', 'last_texts');
    const delivery = { ...withRedeliveries(stored), last_failure: failures[n]!, preview: previewOf.get(stored.id) ?? null };
    const mark = markOf.get(delivery.id);
    const replay_suspect = marked[n] === true && mark?.is_replay === true;
    // If the page has only deliveries with one status, the page query has already decided the status. The mark is
    // newer: the message may have been published since.
    const isPublished = isPublishedStatus(status) || isPublishedState(state) || (!status && !state && mark?.is_published === true);
    if (delivery.status !== 'waiting' || !isPublished) return { ...delivery, replay_suspect };
    return { ...delivery, replay_suspect, status: 'queued', published_at: mark?.published_at ?? null };
  };
  return { ...page, body: JSON.stringify(found.map(complete)) };
};
