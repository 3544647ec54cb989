import { z } from 'zod';
import { recordedEventOf } from '../../domain/audit/recorded-event.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { parseStream, type Recorded, tokenOf } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { notFound } from '../../domain/refusal.ts';
import { EXCLUDED_CATEGORIES, entryOf } from '../../projections/audit/audit-entry.ts';
import { effectsOf, MAX_EFFECTS } from '../../projections/audit/audit-head.queries.ts';
import { positionOfTenantEvent } from '../../projections/audit/audit-log.queries.ts';
import { deliveryById } from '../../projections/deliveries/delivery.queries.ts';
import type { Ctx } from '../http/operation.ts';

export const RecordedEvent = z
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

const EventLink = z.object({
  id: z.uuid().meta({ description: 'The id of the event', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] }),
  type: z.string().meta({ description: 'The type of the event', examples: ['WebhookAccepted'] }),
  at: Timestamp.meta({ description: 'When it was recorded' }),
  stream: z
    .string()
    .meta({ description: 'The stream of the event', examples: ['delivery-c9jpfsapokir73x0gc7lerkjb.czdoc9is0j8ht9lgmxg9edn58'] }),
  position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
});

export const EventDetail = RecordedEvent.extend({
  previous_id: z.uuid().nullable().meta({ description: 'The event before it in its stream; null if it is the first' }),
  next_id: z.uuid().nullable().meta({ description: 'The event after it in its stream; null if it is the last' }),
  causes: z.array(EventLink).meta({ description: 'The events that it names as its causes, at most 100' }),
  effects: z
    .array(EventLink)
    .meta({ description: 'The events that name it as their cause, at most 100; for a delivery, also the starts of its sessions' }),
  resources: z
    .array(
      z.object({
        type: z.string().meta({ description: 'The kind of the resource', examples: ['agent'] }),
        id: z.string().meta({ description: 'The id of the resource', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
      }),
    )
    .meta({ description: 'The resources that it is about, or that it names' }),
}).meta({ id: 'EventDetail' });

type Link = z.output<typeof EventLink>;
type Fields = Readonly<Record<string, unknown>>;

const MAX_LINKS = MAX_EFFECTS;

const linkOf = ({ event_id: id, type, at, stream, position }: Recorded): Link => ({ id, type, at, stream, position: tokenOf(position) });

const fieldsOf = ({ data, meta }: Recorded): Fields => (data instanceof Uint8Array ? (meta.facts ?? {}) : (data as Fields));

/** Returns the event if it belongs to the tenant and the audit log shows it; otherwise null. */
export const eventOf = async (ctx: Ctx, event_id: string): Promise<Recorded | null> => {
  // An event of another tenant is not read, so that the answer takes no longer than for an id that does not exist.
  const position = await positionOfTenantEvent(ctx.reads, ctx.tenant, event_id);
  const event = position && (await ctx.log.eventAt(position));
  return event && event.meta.tenant === ctx.tenant && !EXCLUDED_CATEGORIES.has(event.category) ? event : null;
};

const eventsIn = (ctx: Ctx, stream: string, options: { from: number; limit: number }): Promise<Recorded[]> => {
  const { category, id } = parseStream(stream)!;
  return Array.fromAsync(ctx.log.history({ category, initial: null, evolve: () => null }, id, options));
};

const textsIn = (values: readonly unknown[]): string[] => [...new Set(values.filter((value) => typeof value === 'string'))];

const namedCauses = ({ meta, category }: Recorded, fields: Fields): { events: string[]; deliveries: string[] } => {
  const { repeats, event_id, deliveries = [], failures = [], reports = [], cause, delivery_id } = fields;
  const messages = [...(deliveries as Fields[]), ...(failures as Fields[])];
  const reported = category === 'attemptreport' ? (reports as Fields[]).map((report) => report.delivery_id) : [];
  const isSettlement = category === 'acknowledgement';
  const settled = isSettlement ? [event_id, ...messages.map((message) => message.event_id)] : [];
  const origin = typeof cause === 'object' && cause !== null ? (cause as Fields).delivery_id : null;
  return {
    events: textsIn([meta.$causationId, repeats, ...settled]).slice(0, MAX_LINKS),
    deliveries: textsIn([origin, category === 'session' ? delivery_id : null, ...reported]).slice(0, MAX_LINKS),
  };
};

const causesOf = async (ctx: Ctx, event: Recorded): Promise<Link[]> => {
  const { events, deliveries } = namedCauses(event, fieldsOf(event));
  const named = await Promise.all(events.map((id) => eventOf(ctx, id)));
  const received = await Promise.all(
    deliveries.map(async (id) => (await Array.fromAsync(ctx.log.history(Delivery, id, { from: 0, limit: 1 })))[0] as Recorded | undefined),
  );
  return [...named, ...received].filter((found) => found !== null && found !== undefined).map(linkOf);
};

const effectLinks = async (ctx: Ctx, event: Recorded): Promise<Link[]> => {
  const places = await effectsOf(ctx.reads, ctx.tenant, event.event_id);
  const named = await ctx.log.eventsAt(places);
  const delivery =
    event.category === Delivery.category && event.revision === 0 ? await deliveryById(ctx.reads, ctx.tenant, event.id) : null;
  const steps = delivery?.delivery.causation.filter(({ event_id }) => event_id !== event.event_id).slice(0, MAX_LINKS) ?? [];
  const followed = await Promise.all(steps.map(({ event_id }) => eventOf(ctx, event_id)));
  const found = new Map([...named, ...followed].filter((one) => one !== null).map((one) => [one.event_id, one]));
  return [...found.values()]
    .filter(({ meta }) => meta.tenant === ctx.tenant)
    .map(linkOf)
    .slice(0, MAX_LINKS);
};

const ID = /^c[a-z0-9]{24}$/;

/** Returns the resource of an event, followed by the resources whose ids are in its fields. */
const resourcesOf = (event: Recorded): { type: string; id: string }[] => {
  const { resource_type, resource_id, agent_id, key_id, user_id } = entryOf(event);
  const named = Object.entries(fieldsOf(event)).flatMap(([name, value]) => {
    const type = /^(?:new_)?([a-z_]+)_id$/.exec(name)?.[1];
    return type ? [[type === 'new_owner' ? 'user' : type, value] as const] : [];
  });
  const all = [[resource_type, resource_id], ['agent', agent_id], ['user', user_id], ['api_key', key_id], ...named] as const;
  const found = all.flatMap(([type, id]) => (typeof id === 'string' && ID.test(id) ? [[id, { type: String(type), id }] as const] : []));
  return [...new Map(found.toReversed()).values()].reverse();
};

/**
 * Returns an event of the tenant as EventDetail in JSON.
 * @throws Refusal not_found if the tenant has no such event, or the audit log does not show it
 */
export const eventDetailText = async (ctx: Ctx, event_id: string): Promise<string> => {
  const event = await eventOf(ctx, event_id);
  if (!event) throw notFound();
  const { stream, revision } = event;
  const [neighbours, causes, effects] = await Promise.all([
    eventsIn(ctx, stream, { from: Math.max(revision - 1, 0), limit: 3 }),
    causesOf(ctx, event),
    effectLinks(ctx, event),
  ]);
  const idAt = (wanted: number): string | null => neighbours.find((one) => one.revision === wanted)?.event_id ?? null;
  const places = { previous_id: idAt(revision - 1), next_id: idAt(revision + 1) };
  return JSON.stringify({ ...recordedEventOf(event), ...places, causes, effects, resources: resourcesOf(event) });
};
