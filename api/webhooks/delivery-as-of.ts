import { comparePositions, type Position, parseToken, type Recorded } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import { positionOfEvent } from '../../projections/audit/audit-log.queries.ts';
import { asOf } from '../../projections/engine/as-of.ts';
import { deliveryById, type FoundDelivery } from '../../projections/webhooks/delivery.queries.ts';
import { deliveries, table } from '../../projections/webhooks/delivery.ts';
import type { Ctx } from '../http/operation.ts';

const isBefore = (event: Recorded, at: Position): boolean => comparePositions(event.position, at) <= 0;

/** The first revision of an agent's acknowledgements that lies behind a position: some 2 log n reads of one event. */
const firstRevisionAfter = async (ctx: Ctx, agent_id: string, at: Position): Promise<number> => {
  const isBehind = async (revision: number): Promise<boolean> => {
    const [event] = await Array.fromAsync(ctx.history(Acknowledgement, agent_id, { from: revision, limit: 1 }));
    return event === undefined || !isBefore(event, at);
  };
  let [low, high] = [0, 1];
  while (!(await isBehind(high - 1))) [low, high] = [high, high * 2];
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (await isBehind(middle - 1)) high = middle;
    else low = middle;
  }
  return low;
};

/** When the view, where it has come that far, saw a delivery settled last; null: never; undefined: nobody can say. */
const lastSettled = (ctx: Ctx, at: Position, live: FoundDelivery | null): string | null | undefined => {
  const reached = parseToken(ctx.reads.position(deliveries.name) ?? '');
  if (!live || !reached || comparePositions(reached, at) < 0) return undefined;
  return live.delivery.attempts.at(-1)?.at ?? null;
};

/** What was said of a delivery up to a position, from its own beginning on and no further than the last that the view knows of. */
const settlements = async (ctx: Ctx, accepted: Recorded, at: Position, last: string | null | undefined): Promise<Recorded[]> => {
  if (last === null) return [];
  const { agent_id } = Delivery.factsOf(accepted);
  const found: Recorded[] = [];
  const from = await firstRevisionAfter(ctx, agent_id, accepted.position);
  for await (const event of ctx.history(Acknowledgement, agent_id, { from })) {
    if (!isBefore(event, at)) return found;
    const settled = Acknowledgement.eventForDelivery(event, accepted.id);
    if (settled) found.push(settled.event);
    if (settled && settled.at === last) return found;
  }
  return found;
};

/** A refused one stands among its hook's refusals and never changes: it was there from its own event on. */
const refusedThen = async (ctx: Ctx, live: FoundDelivery | null, at: Position): Promise<FoundDelivery | null> => {
  if (live?.delivery.outcome !== 'rejected') return null;
  const place = await positionOfEvent(ctx.reads, live.delivery.causation[0]!.event_id);
  return place && comparePositions(place, at) <= 0 ? live : null;
};

/** A delivery but for its payload as it was at a position: its own stream folded with what its agent's runner said of it until then. */
export const deliveryAsOf = async (ctx: Ctx, id: string, at: Position): Promise<FoundDelivery | null> => {
  const [own, live] = await Promise.all([Array.fromAsync(ctx.history(Delivery, id)), deliveryById(ctx.reads, ctx.tenant, id)]);
  const [accepted] = own;
  if (!accepted) return refusedThen(ctx, live, at);
  if (!isBefore(accepted, at)) return null;
  const events = [...own, ...(await settlements(ctx, accepted, at, lastSettled(ctx, at, live)))];
  const [held] = asOf(deliveries, table.name, events, at).values();
  return held ? { delivery: JSON.parse(held.docs[0]!), revision: held.revision } : null;
};
