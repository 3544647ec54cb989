import type { Decision } from '../../domain/aggregate.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as Upkeep from '../../domain/operations/projection-maintenance.ts';
import type { Ctx, Loaded } from '../context.ts';

const record = async <T>(
  ctx: Ctx,
  projection: string,
  decide: Decision<Upkeep.ProjectionMaintenance, Upkeep.ProjectionMaintenanceEvent>,
  state: T,
): Promise<Loaded<T>> => {
  const id = ctx.uniqueId('projection', projection, 0, PLATFORM);
  const { position } = await ctx.transact(Upkeep, id, decide, { ignoreIfMatch: true });
  return { id, revision: -1, position, state };
};

/** Records that the caller promoted a rebuild. @returns the rebuild, with the position of the event */
export const recordPromotion = <T extends { id: string; projection: string; version: number }>(ctx: Ctx, rebuild: T): Promise<Loaded<T>> =>
  record(ctx, rebuild.projection, Upkeep.promote(rebuild.projection, rebuild.version, rebuild.id), rebuild);

/**
 * Records that the caller had a parked event applied again.
 * @returns the parked event, with the position of the new event
 */
export const recordRetry = <T extends { projection: string; event_id: string }>(ctx: Ctx, parked: T): Promise<Loaded<T>> =>
  record(ctx, parked.projection, Upkeep.retry(parked.projection, parked.event_id), parked);
