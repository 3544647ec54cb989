import { z } from 'zod';
import { recordedEventText } from '../../domain/audit/recorded-event.ts';
import { MAX_SORT_KEY, parseStream, parseToken, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import { integer } from '../../domain/fields.ts';
import { EXCLUDED_CATEGORIES } from '../../projections/audit/audit-entry.ts';
import { type EntrySelection, positionsOf } from '../../projections/audit/audit-head.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Page } from '../../projections/read-model.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Decimal, PositionToken } from '../http/paging.ts';

const RecordedEvent = z
  .object({
    id: z.uuid().meta({ description: 'The id of the event', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] }),
    stream: z
      .string()
      .meta({ description: 'The stream of the event', examples: ['agent-c9jpfsapokir73x0gc7lerkjb.czdoc9is0j8ht9lgmxg9edn58'] }),
    revision: z.int().meta({ description: 'The number of the event in its stream, from 0', examples: [3] }),
    position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
    type: z.string().meta({ description: 'The type of the event', examples: ['AgentUpdated'] }),
    at: z.string().meta({ format: 'date-time', description: 'When it was recorded', examples: ['2026-03-01T12:00:00.000Z'] }),
    data: z.unknown().meta({
      description: 'The fields of the event, or bytes as base64. Secrets and sealed contents are as the log stores them: encrypted',
      examples: [{ description: 'Reviews pull requests' }],
    }),
    metadata: z.unknown().meta({
      description: 'Tenant, actor, time, the ids of the request and its cause; for data that are bytes, the fields of the event',
      examples: [{ actor: { kind: 'user', id: 'c1u33xtplpft75v2seh60kvj5' } }],
    }),
  })
  .meta({ id: 'RecordedEvent' });

const EventQuery = z.strictObject({
  stream: z.string().max(300).optional().meta({ description: 'Only the events of this stream' }),
  type: z.string().max(100).optional().meta({ description: 'Only events of this type' }),
  correlation: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'Only events that the request with this `X-Request-Id` caused: the `$correlationId` in their metadata' }),
  from_position: PositionToken.optional().meta({ description: 'Only events at or after this position' }),
  to_position: PositionToken.optional().meta({ description: 'Only events at or before this position' }),
  limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many events the page may have' }),
  cursor: PositionToken.optional().meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
});

const pageOf = (events: readonly Recorded[], next: string | null): Page => ({
  body: `[${events.map(recordedEventText).join(',\n')}]`,
  next,
});

type Selection = Omit<EntrySelection, 'tenant_id'> & { readonly limit: number };

const isSelected = ({ position, type, meta }: Recorded, selection: Selection): boolean =>
  sortKey(position) >= selection.from &&
  (selection.type === undefined || type === selection.type) &&
  (selection.request_id === undefined || meta.$correlationId === selection.request_id);

/** The events of one stream. A stream that is not the tenant's has none. */
const eventsOfStream = async (ctx: Ctx, stream: string, selection: Selection): Promise<Page> => {
  const place = parseStream(stream);
  if (!place || place.tenant !== ctx.tenant || EXCLUDED_CATEGORIES.has(place.category)) return pageOf([], null);
  const found: Recorded[] = [];
  for await (const event of ctx.history({ category: place.category, initial: null, evolve: () => null }, place.id)) {
    if (sortKey(event.position) > selection.to) break;
    if (!isSelected(event, selection)) continue;
    if (found.length === selection.limit) return pageOf(found, tokenOf(event.position));
    found.push(event);
  }
  return pageOf(found, null);
};

/** The audited events of the tenant. The read model says where they are, and the log has what they are. */
const eventsOfTenant = async (ctx: Ctx, { limit, ...selection }: Selection): Promise<Page> => {
  const positions = await positionsOf(ctx.reads, { tenant_id: ctx.tenant, ...selection }, limit + 1);
  const events = await Promise.all(positions.slice(0, limit).map((position) => ctx.eventAt(position)));
  const next = positions[limit];
  return pageOf(
    events.filter((event) => event !== null),
    next ? tokenOf(next) : null,
  );
};

export const eventOperations = {
  listEvents: operation({
    method: 'get',
    path: '/tenant/:tenant_id/events',
    summary: "List the tenant's events as the log stores them",
    details: 'In log order. With them, the leaves of the audit tree can be computed: see the proofs of the audit log.',
    permit: 'tenant:audit:read',
    projection: audit.name,
    query: EventQuery,
    reply: z.array(RecordedEvent),
    run: (ctx, { stream, type, correlation: request_id, from_position, to_position, limit, cursor }) => {
      const keyOf = (token: string): string => sortKey(parseToken(token)!);
      const start = cursor ?? from_position;
      const [from, to] = [start === undefined ? '' : keyOf(start), to_position === undefined ? MAX_SORT_KEY : keyOf(to_position)];
      const selection = { from, to, type, request_id, limit };
      return stream === undefined ? eventsOfTenant(ctx, selection) : eventsOfStream(ctx, stream, selection);
    },
  }),
};
