import { z } from 'zod';
import { recordedEventText } from '../../domain/audit/recorded-event.ts';
import { MAX_SORT_KEY, parseStream, parseToken, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import { Instant, integer } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { EXCLUDED_CATEGORIES } from '../../projections/audit/audit-entry.ts';
import {
  type EntrySelection,
  EVENT_ORDERS,
  type EventOrder,
  placeAtTime,
  positionsOf,
} from '../../projections/audit/audit-head.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Page } from '../../projections/read-model.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Decimal, PositionToken } from '../http/paging.ts';
import { EventDetail, eventDetailText, RecordedEvent } from './event-detail.ts';

const CATEGORY_PATTERN = /^([a-z]+)-?\*$/;

const StreamFilter = z.string().max(300).meta({
  description: 'Only the events of this stream, or of all streams of a category: `agent-*`',
});
const RequestFilter = z.string().min(1).max(255);

const EventQuery = z.strictObject({
  stream: StreamFilter.optional(),
  type: z.string().max(100).optional().meta({ description: 'Only events of this type' }),
  correlation_id: RequestFilter.optional().meta({
    description: 'Only events that the request with this `X-Request-Id` caused: the `$correlationId` in their metadata',
  }),
  correlation: RequestFilter.optional().meta({ description: 'The earlier name of `correlation_id`' }),
  order: z.enum(EVENT_ORDERS).default('oldest').meta({ description: 'Whether the oldest or the newest events come first' }),
  at: Instant.optional().meta({
    description: 'Where the list begins: with the first event at or after this time; newest first, with the last one at or before it',
  }),
  from_position: PositionToken.optional().meta({ description: 'Only events at or after this position' }),
  to_position: PositionToken.optional().meta({ description: 'Only events at or before this position' }),
  limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many events the page may have' }),
  cursor: PositionToken.optional().meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
});

const pageOf = (events: readonly Recorded[], next: string | null): Page => ({
  body: `[${events.map(recordedEventText).join(',\n')}]`,
  next,
});

type Selection = Omit<EntrySelection, 'tenant_id'> & { readonly limit: number; readonly order: EventOrder };

const isSelected = ({ position, type, meta }: Recorded, selection: Selection): boolean =>
  sortKey(position) >= selection.from &&
  (selection.type === undefined || type === selection.type) &&
  (selection.request_id === undefined || meta.$correlationId === selection.request_id);

/** Returns a page of the events of one stream. The page is empty if the stream does not belong to the tenant. */
const eventsOfStream = async (ctx: Ctx, stream: string, selection: Selection): Promise<Page> => {
  const place = parseStream(stream);
  if (!place || place.tenant !== ctx.tenant || EXCLUDED_CATEGORIES.has(place.category)) return pageOf([], null);
  const { limit, order } = selection;
  const found: Recorded[] = [];
  for await (const event of ctx.log.history({ category: place.category, initial: null, evolve: () => null }, place.id)) {
    if (sortKey(event.position) > selection.to) break;
    if (!isSelected(event, selection)) continue;
    found.push(event);
    if (found.length <= limit) continue;
    if (order === 'oldest') break;
    // The newest events are wanted, but the stream is read from its start. So keep only the last `limit + 1` events.
    if (found.length > limit + 1) found.shift();
  }
  const ordered = order === 'oldest' ? found : found.toReversed();
  return pageOf(ordered.slice(0, limit), ordered[limit] ? tokenOf(ordered[limit].position) : null);
};

/**
 * Returns a page of the audited events of the tenant. Their positions come from the read model, the events from the
 * log.
 */
const eventsOfTenant = async (ctx: Ctx, { limit, order, ...selection }: Selection): Promise<Page> => {
  const positions = await positionsOf(ctx.reads, { tenant_id: ctx.tenant, ...selection }, limit + 1, order);
  const events = await ctx.log.eventsAt(positions.slice(0, limit));
  const next = positions[limit];
  return pageOf(
    events.filter((event) => event !== null),
    next ? tokenOf(next) : null,
  );
};

const keyOf = (token: string): string => sortKey(parseToken(token)!);
const later = (one: string, other: string): string => (one > other ? one : other);
const earlier = (one: string, other: string): string => (one < other ? one : other);

type Bounds = Pick<z.output<typeof EventQuery>, 'order' | 'at' | 'from_position' | 'to_position' | 'cursor'>;

/**
 * Returns the lowest and the highest sort key of the events on a page. They result from the filter, and from the cursor
 * or, on the first page, from the time `at`. Returns null if there can be no event between them.
 */
const boundsOf = async (
  ctx: Ctx,
  { order, at, from_position, to_position, cursor }: Bounds,
): Promise<{ from: string; to: string } | null> => {
  const from = from_position === undefined ? '' : keyOf(from_position);
  const to = to_position === undefined ? MAX_SORT_KEY : keyOf(to_position);
  const beginning = cursor === undefined && at !== undefined ? await placeAtTime(ctx.reads, ctx.tenant, at, order) : undefined;
  if (beginning === null) return null;
  const start = cursor === undefined ? beginning : keyOf(cursor);
  if (start === undefined) return { from, to };
  return order === 'oldest' ? { from: later(from, start), to } : { from, to: earlier(to, start) };
};

const listEvents = async (ctx: Ctx, query: z.output<typeof EventQuery>): Promise<Page> => {
  const { stream, type, limit, order, correlation, correlation_id: request_id = correlation } = query;
  if (correlation !== undefined && correlation !== request_id)
    throw invalid('/query/correlation', 'is the earlier name of correlation_id: send one of them', 'conflicting_fields');
  const bounds = await boundsOf(ctx, query);
  if (!bounds) return pageOf([], null);
  const category = stream === undefined ? undefined : CATEGORY_PATTERN.exec(stream)?.[1];
  const selection = { ...bounds, type, request_id, category, limit, order };
  return stream === undefined || category !== undefined ? eventsOfTenant(ctx, selection) : eventsOfStream(ctx, stream, selection);
};

export const eventOperations = {
  listEvents: operation({
    method: 'get',
    path: '/tenant/:tenant_id/events',
    summary: "List the tenant's events as the log stores them",
    details: 'In log order, or the newest first. With them, the leaves of the audit tree can be computed: see the proofs of the audit log.',
    permit: 'tenant:audit:read',
    projection: audit.name,
    query: EventQuery,
    reply: z.array(RecordedEvent),
    run: listEvents,
  }),
  readEvent: operation({
    method: 'get',
    path: '/tenant/:tenant_id/events/:event_id',
    summary: 'Read one event, with its causes and effects',
    details: 'It is shown as the log stores it, with its neighbours in its stream.',
    permit: 'tenant:audit:read',
    projection: audit.name,
    query: z.strictObject({}),
    reply: EventDetail,
    noETag: true,
    run: async (ctx, { event_id }) => ({ doc: await eventDetailText(ctx, event_id), revision: null }),
  }),
};
