import type { z } from 'zod';
import { isAccepted } from '../../domain/deliveries/delivery.ts';
import { REPLAY_WINDOW_MS } from '../../domain/deliveries/replay-guard.ts';
import { comparePositions, type Position, parseToken, sortKey } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { latestEntry, positionOfEvent } from '../audit/audit-log.queries.ts';
import { defineList, defineQuery } from '../query.ts';
import { type Doc, pagesOf, type Reads, type Source } from '../read-model.ts';
import { type DeliveryDetailRow, type DeliveryRead, deliveries, table } from './delivery.ts';
import { allAttempts } from './delivery-attempts.ts';
import { withRedeliveries } from './delivery-redeliveries.ts';
import type { StoredReport } from './delivery-reports.ts';
import type { shownFields } from './delivery-shown.ts';

const from: Source<typeof table> = { projection: deliveries.name, table };

type ListDoc = Omit<z.output<typeof DeliveryRead>, 'preview' | keyof typeof shownFields>;
type DetailDoc = z.output<typeof DeliveryDetailRow>;
type StoredDoc = z.output<typeof table.docs.doc>;
type WithPlace<Doc> = Doc & { readonly place: string | null };

/**
 * Identifies an integration. `marksReplays`: whether body replays (known bodies under another delivery id) are marked.
 */
export type IntegrationRef = { readonly tenant_id: string; readonly integration_id: string; readonly marksReplays: boolean };

type BodyRef = {
  readonly tenant_id: string;
  readonly integration_id: string;
  readonly sha256: string;
  readonly since: string;
  readonly until: string;
};

/** Finds the first delivery with this body that an integration received between two times. Both times are inclusive. */
const firstWithBody = defineQuery((db, { tenant_id, integration_id, sha256, since, until }: BodyRef) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where('delivery.sha256', '=', sha256)
    .where('delivery.received_at', '>=', since)
    .where('delivery.received_at', '<=', until)
    .orderBy('delivery.received_at')
    .orderBy('delivery.id')
    .limit(({ lit }) => lit(1)),
);

/**
 * Returns whether the integration received the same body before, with another delivery id and within the replay window.
 */
const isReplay = async (
  reads: Reads,
  { tenant_id, integration_id, marksReplays }: IntegrationRef,
  { id, sha256, received_at }: ListDoc,
): Promise<boolean> => {
  if (!marksReplays || sha256 === null) return false;
  const since = new Date(Date.parse(received_at) - REPLAY_WINDOW_MS).toISOString();
  const [first] = await reads.rows(firstWithBody, { tenant_id, integration_id, sha256, since, until: received_at });
  return first !== undefined && first.id !== id;
};

/** Sets `replay_suspect`, which is whether the integration received the same body before with another delivery id. */
export const withReplayMark = async <T extends ListDoc>(reads: Reads, integration: IntegrationRef, delivery: T): Promise<T> => ({
  ...delivery,
  replay_suspect: await isReplay(reads, integration, delivery),
});

/**
 * Finds the sort key of the log position up to which messages are published, as of the log position `until`. Returns no
 * row if no message is published.
 */
const lastPublication = defineQuery((db, { until }: { until?: string | undefined }) =>
  db
    .selectFrom('deliveries.publications as publication')
    .select('publication.place')
    .$if(until !== undefined, (query) => query.where('publication.recorded', '<=', until!))
    .orderBy('publication.recorded', 'desc')
    .limit(({ lit }) => lit(1)),
);

/** Finds the record of the publication of a message, as of the log position `until`. `place` is the sort key of the position of the message's event. */
const publicationOf = defineQuery((db, { place, until }: { place: string; until?: string | undefined }) =>
  db
    .selectFrom('deliveries.publications as publication')
    .select('publication.published_at')
    .where('publication.place', '>=', place)
    .$if(until !== undefined, (query) => query.where('publication.recorded', '<=', until!))
    .orderBy('publication.place')
    .limit(({ lit }) => lit(1)),
);

const publishedThrough = async (reads: Reads, until?: Position): Promise<string> => {
  const [last] = await reads.rows(lastPublication, { until: until && sortKey(until) });
  return last?.place ?? '';
};

/**
 * Completes the status and the time of publication. Many messages are recorded as published at once, without changing
 * the rows of their deliveries. So a stored row has the status `waiting` until its message is acknowledged or given up.
 * A published delivery gets the status `queued`, because only the broker knows whether a runner has it.
 */
const withPublication = async <Doc extends ListDoc>(reads: Reads, found: WithPlace<Doc>, through: string): Promise<Doc> => {
  const { place, ...delivery } = found;
  if (delivery.status !== 'waiting' || place === null || place > through) return delivery as unknown as Doc;
  const [record] = await reads.rows(publicationOf, { place });
  return { ...delivery, status: 'queued', published_at: record?.published_at ?? null } as unknown as Doc;
};

/**
 * A delivery without its payload, without the mark for body replays, and without the reports of its attempts, whose
 * texts are encrypted. `revision` is the revision of its stream.
 */
export type FoundDelivery = { readonly delivery: DetailDoc; readonly revision: number | null; readonly reports: readonly StoredReport[] };

/** Adds to the release or the end of a delivery why it was blocked or held before. */
const withStop = <D extends Pick<StoredDoc, 'stopped' | 'expired_at' | 'released'>>({ stopped, expired_at, released, ...delivery }: D) => ({
  ...delivery,
  released: released && stopped ? { ...released, from: stopped } : null,
  expired: expired_at && stopped ? { at: expired_at, from: stopped } : null,
});

type ShownSteps = DetailDoc['causation'];

/** Whether a step started a message to a runner. */
const isMessage = ({ type }: Pick<ShownSteps[number], 'type'>): boolean =>
  isAccepted(type) || type === 'DeliveryRequeued' || type === 'DeliveryReleased';

/**
 * Adds to the steps of a delivery when each message was published. A settled message has its own time. `last` is the
 * time of the last message; that of an earlier one that has not ended is read.
 */
const withPublications = async (
  reads: Reads,
  { causation, attempts }: Pick<StoredDoc, 'causation' | 'attempts'>,
  last: string | null,
  until?: Position,
): Promise<ShownSteps> => {
  const lastMessage = causation.findLast(isMessage);
  const timeOf = async (step: StoredDoc['causation'][number]): Promise<string | null> => {
    if (!isMessage(step)) return null;
    if (step === lastMessage) return last;
    const ended = attempts.find(({ event_id }) => event_id === step.event_id);
    if (ended) return ended.published_at;
    const [record] = await reads.rows(publicationOf, { place: sortKey(parseToken(step.position)!), until: until && sortKey(until) });
    return record?.published_at ?? null;
  };
  return Promise.all(causation.map(async (step) => ({ ...step, actor: { ...step.actor, name: null }, published_at: await timeOf(step) })));
};

/**
 * Parses the document of a delivery, and completes its status and time of publication, as of the log position `until`
 * if it is given.
 */
export const deliveryOf = async (reads: Reads, { doc, revision }: Doc, until?: Position): Promise<FoundDelivery> => {
  const whole = withRedeliveries(JSON.parse(doc) as WithPlace<StoredDoc>);
  const { failures, reports = [], ...stored } = omit(whole, 'last_report', 'last_texts');
  const row = withStop(stored);
  const messages = row.causation.map(({ event_id }) => event_id);
  const attempts = allAttempts({ attempts: row.attempts, failures, reports }, messages).map((attempt) => ({ ...attempt, report: null }));
  const found = { ...row, attempts };
  const through = found.status === 'waiting' ? await publishedThrough(reads, until) : '';
  const published = await withPublication<Omit<DetailDoc, 'causation'> & Pick<StoredDoc, 'causation'>>(reads, found, through);
  const causation = await withPublications(reads, row, published.published_at, until);
  return { delivery: { ...published, causation }, revision, reports };
};

/** Finds one delivery; null if it does not exist. Use `withReplayMark` to mark a body replay. */
export const deliveryById = async (reads: Reads, tenant_id: string, id: string): Promise<FoundDelivery | null> => {
  const found = await reads.one(from, { tenant_id, id });
  return found && deliveryOf(reads, found);
};

type ProviderRef = { readonly tenant_id: string; readonly provider_delivery_id: string };

const newestWithProviderId = defineQuery((db, { tenant_id, provider_delivery_id }: ProviderRef) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.provider_delivery_id', '=', provider_delivery_id)
    .orderBy('delivery.received_at', 'desc')
    .orderBy('delivery.id', 'desc')
    .limit(({ lit }) => lit(1)),
);

/** Finds the newest delivery that a provider knows by this id; null if there is none. */
export const deliveryByProviderId = async (
  reads: Reads,
  tenant_id: string,
  provider_delivery_id: string,
): Promise<FoundDelivery | null> => {
  const [found] = await reads.rows(newestWithProviderId, { tenant_id, provider_delivery_id });
  return found ? deliveryById(reads, tenant_id, found.id) : null;
};

/** The assumed maximum difference between the clocks of two processes, in milliseconds. */
const MAX_CLOCK_SKEW_MS = 60_000;
const PAGE_SIZE = 50;
/** At most this many of the latest deliveries are searched for one that was signed with the previous secret. */
const MAX_EXAMINED = 1_000;

type VerifiedArgs = { readonly tenant_id: string; readonly integration_id: string; readonly until: string };

/**
 * Lists the deliveries of an integration whose signature was valid and that were received at or before the time
 * `until`.
 */
const verifiedDeliveries = defineList({ table }, (db, { tenant_id, integration_id, until }: VerifiedArgs) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where('delivery.outcome', 'in', ['accepted', 'blocked', 'dead'])
    .where('delivery.received_at', '<=', until),
);

type LastDeliveries = { readonly last_delivery_at: string | null; readonly last_delivery_on_previous_secret_at: string | null };

/**
 * Returns the time of the last delivery to an integration, and of the last delivery that was signed with the previous
 * secret. Only deliveries whose event is at or before the log position `until` count; the audit log provides these
 * positions. If `usedPreviousSecret` is false, no delivery is searched that was signed with a previous secret; so it
 * must be true if there is one.
 */
export const lastDeliveriesUntil = async (
  reads: Reads,
  { tenant_id, integration_id }: Pick<IntegrationRef, 'tenant_id' | 'integration_id'>,
  until: Position,
  usedPreviousSecret: boolean,
): Promise<LastDeliveries> => {
  const newest = await latestEntry(reads, tenant_id, until);
  const end = new Date(Date.parse(newest?.at ?? '1970-01-01T00:00:00Z') + MAX_CLOCK_SKEW_MS).toISOString();
  const newestFirst = { sort: { column: 'received_at', descending: true }, limit: PAGE_SIZE };
  let last: string | null = null;
  let examined = 0;
  for await (const page of pagesOf(reads, verifiedDeliveries, { tenant_id, integration_id, until: end }, newestFirst)) {
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
    examined += PAGE_SIZE;
    if (examined >= MAX_EXAMINED) break;
  }
  return { last_delivery_at: last, last_delivery_on_previous_secret_at: null };
};
