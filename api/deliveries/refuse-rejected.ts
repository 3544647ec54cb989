import * as Delivery from '../../domain/deliveries/delivery.ts';
import { deliveryById } from '../../projections/deliveries/delivery.queries.ts';
import type { Ctx } from '../http/operation.ts';

/**
 * Refuses the id of a rejected delivery. The read model is searched for it, because a rejected delivery has no stream:
 * its sender was not verified.
 * @throws Refusal conflict
 */
export const refuseRejected = async (ctx: Ctx, id: string): Promise<void> => {
  const { revision } = await ctx.load(Delivery, id);
  if (revision >= 0) return;
  const found = await deliveryById(ctx.reads, ctx.tenant, id);
  if (found) throw Delivery.undeliverable(`The delivery was rejected (${found.delivery.reason}): no body was stored`);
};
