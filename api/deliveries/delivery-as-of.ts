import type { AnyAggregate } from '../../domain/aggregate.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import * as AttemptReport from '../../domain/runners/attempt-report.ts';
import * as Session from '../../domain/sessions/session.ts';
import { positionOfEvent } from '../../projections/audit/audit-log.queries.ts';
import { deliveryById, deliveryOf, type FoundDelivery } from '../../projections/deliveries/delivery.queries.ts';
import { deliveries, table } from '../../projections/deliveries/delivery.ts';
import { MAX_STORED_REPORTS } from '../../projections/deliveries/delivery-reports.ts';
import { asOf } from '../../projections/engine/as-of.ts';
import { sessionsOfDelivery } from '../../projections/sessions/session.queries.ts';
import { sessions } from '../../projections/sessions/session.ts';
import type { Ctx } from '../http/operation.ts';

const isUpTo = (event: Recorded, at: Position): boolean => comparePositions(event.position, at) <= 0;

/**
 * Returns the revision of the first event after the position `at` in an agent's stream of a category. It is found by
 * binary search with about 2 log2 n reads.
 */
const firstRevisionAfter = async (ctx: Ctx, aggregate: AnyAggregate, agent_id: string, at: Position): Promise<number> => {
  const isAfter = async (revision: number): Promise<boolean> => {
    const [event] = await Array.fromAsync(ctx.log.history(aggregate, agent_id, { from: revision, limit: 1 }));
    return event === undefined || !isUpTo(event, at);
  };
  let [low, high] = [0, 1];
  while (!(await isAfter(high - 1))) [low, high] = [high, high * 2];
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (await isAfter(middle - 1)) high = middle;
    else low = middle;
  }
  return low;
};

/** A message to the runners of an agent. It is either the first message of a delivery or a redelivery. */
type SentMessage = Acknowledgement.MessageRef & { readonly agent_id: string; readonly position: Position; readonly isFirst: boolean };

const messageOf = (event: Recorded<Delivery.DeliveryEvent>): SentMessage | null => {
  const { type, event_id, id, position, data } = event;
  if (Delivery.isAccepted(type)) return { agent_id: Delivery.factsOf(event).agent_id, delivery_id: id, event_id, position, isFirst: true };
  return type === 'DeliveryRequeued' || type === 'DeliveryReleased'
    ? { agent_id: data.agent_id, delivery_id: id, event_id, position, isFirst: false }
    : null;
};

/**
 * Returns the time at which the last attempt of a message ended, according to the read model; null if no attempt has
 * ended, and undefined if the read model has not reached the position `at`.
 */
const lastAttemptAt = (ctx: Ctx, at: Position, live: FoundDelivery | null, event_id: string): string | null | undefined => {
  const reached = parseToken(ctx.reads.position(deliveries.name) ?? '');
  if (!live || !reached || comparePositions(reached, at) < 0) return undefined;
  return live.delivery.attempts.findLast((attempt) => attempt.event_id === event_id && attempt.at !== null)?.at ?? null;
};

/**
 * Returns the acknowledgement events of a message up to the position `at`. `last` is the time of the last of these
 * events, after which the search can stop; null if the message has none, and undefined if this is not known.
 */
const settlementsOf = async (ctx: Ctx, message: SentMessage, at: Position, last: string | null | undefined): Promise<Recorded[]> => {
  if (last === null) return [];
  const { agent_id, position } = message;
  const found: Recorded[] = [];
  const from = await firstRevisionAfter(ctx, Acknowledgement, agent_id, position);
  for await (const event of ctx.log.history(Acknowledgement, agent_id, { from })) {
    if (!isUpTo(event, at)) return found;
    const settled = Acknowledgement.eventForMessage(event, message);
    if (settled) found.push(settled.event);
    if (settled && settled.at === last) return found;
  }
  return found;
};

/**
 * Returns the revision of the last event with a report about a message, according to the read model; null if there is
 * none, and undefined if this is not known: the read model has not reached the position `at`, or has dropped reports.
 */
const lastReportRevision = (
  ctx: Ctx,
  at: Position,
  live: FoundDelivery | null,
  { event_id, isFirst }: SentMessage,
): number | null | undefined => {
  const reached = parseToken(ctx.reads.position(deliveries.name) ?? '');
  if (!live || !reached || comparePositions(reached, at) < 0) return undefined;
  if (live.reports.length >= MAX_STORED_REPORTS) return undefined;
  return live.reports.findLast(({ message_id }) => message_id === (isFirst ? null : event_id))?.revision ?? null;
};

/**
 * Returns the reports about a message up to the position `at`. `last` is the revision of the event with the last one,
 * after which the search can stop; null and undefined as in `settlementsOf`.
 */
const reportsOf = async (ctx: Ctx, message: SentMessage, at: Position, last: number | null | undefined): Promise<Recorded[]> => {
  if (last === null) return [];
  const { agent_id, position, delivery_id, event_id, isFirst } = message;
  const ref = { delivery_id, ...(!isFirst && { message_id: event_id }) };
  const found: Recorded[] = [];
  const from = await firstRevisionAfter(ctx, AttemptReport, agent_id, position);
  for await (const event of ctx.log.history(AttemptReport, agent_id, { from })) {
    if (!isUpTo(event, at)) return found;
    const own = AttemptReport.eventForMessage(event, ref);
    if (own) found.push(own);
    if (last !== undefined && event.revision >= last) return found;
  }
  return found;
};

/**
 * Returns a rejected delivery if it was rejected at or before the position `at`; otherwise null. The data may come from
 * the read model, because a rejected delivery never changes.
 */
const rejectedAsOf = async (ctx: Ctx, live: FoundDelivery | null, at: Position): Promise<FoundDelivery | null> => {
  if (live?.delivery.outcome !== 'rejected') return null;
  const position = await positionOfEvent(ctx.reads, live.delivery.causation[0]!.event_id);
  return position && comparePositions(position, at) <= 0 ? live : null;
};

/**
 * Returns the first events of the sessions that process a delivery, after the read model of sessions has reached the
 * position `at`.
 * @throws Refusal not_caught_up
 */
const sessionStarts = async (ctx: Ctx, id: string, at: Position): Promise<Recorded[]> => {
  await ctx.reads.passed(sessions.name, tokenOf(at));
  const ids = await sessionsOfDelivery(ctx.reads, ctx.tenant, id);
  return (await Promise.all(ids.map((session) => Array.fromAsync(ctx.log.history(Session, session, { limit: 1 }))))).flat();
};

/**
 * Returns a delivery as of the position `at`, without its body. It is computed from its own events and from the
 * acknowledgement events of the agents to which it was sent.
 */
export const deliveryAsOf = async (ctx: Ctx, id: string, at: Position): Promise<FoundDelivery | null> => {
  const [own, live] = await Promise.all([Array.fromAsync(ctx.log.history(Delivery, id)), deliveryById(ctx.reads, ctx.tenant, id)]);
  const [accepted] = own;
  if (!accepted) return rejectedAsOf(ctx, live, at);
  if (!isUpTo(accepted, at)) return null;
  const messages = own.filter((event) => isUpTo(event, at)).flatMap((event) => messageOf(event) ?? []);
  const settlements = messages.map((message) => settlementsOf(ctx, message, at, lastAttemptAt(ctx, at, live, message.event_id)));
  const reports = messages.map((message) => reportsOf(ctx, message, at, lastReportRevision(ctx, at, live, message)));
  const others = await Promise.all([...settlements, ...reports, sessionStarts(ctx, id, at)]);
  const events = [...own, ...others.flat()];
  const [row] = asOf(deliveries, table.name, events, at).values();
  return row ? deliveryOf(ctx.reads, { doc: row.docs[0]!, revision: row.revision }, at) : null;
};
