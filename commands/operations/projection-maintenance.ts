import type { Decision } from '../../domain/aggregate.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as Maintenance from '../../domain/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';

/** How a rebuild ends. `promote`: the new rows replace the old ones. `abort`: the new rows are dropped. */
export type RebuildDecision = 'promote' | 'abort';

export type RebuildProgress = {
  readonly state: 'running' | 'ready' | 'promoted' | 'aborted' | 'failed';
  /** A decision that was requested before and has not been carried out yet; undefined if there is none. */
  readonly requested: RebuildDecision | undefined;
};

/**
 * Whether the caller must request this decision about a rebuild: true unless the same decision is already requested.
 * @throws Refusal conflict if the rebuild has ended, has not caught up (for `promote`), or if the other decision is
 * already requested
 */
export const mustRequest = (decision: RebuildDecision, { state, requested }: RebuildProgress): boolean => {
  if (state === 'promoted' || state === 'aborted') throw new Refusal('conflict', `The rebuild has already been ${state}`);
  if (decision === 'promote' && state !== 'ready')
    throw new Refusal('conflict', 'The rebuild has not caught up yet: try again', { retryAfter: 1 });
  if (requested !== undefined && requested !== decision)
    throw new Refusal('conflict', `Another operator has already requested to ${requested} this rebuild`);
  return requested === undefined;
};

/**
 * The part of a request context that is needed to record an operator's decision. It contains no caller, so that the
 * command line can provide it, too.
 */
export type MaintenanceContext = Pick<Ctx, 'uniqueId' | 'transact'>;

const record = async <T>(
  ctx: MaintenanceContext,
  projection: string,
  decide: Decision<Maintenance.ProjectionMaintenance, Maintenance.ProjectionMaintenanceEvent>,
  state: T,
): Promise<Loaded<T>> => {
  const id = ctx.uniqueId('projection', projection, 0, PLATFORM);
  const { position } = await ctx.transact(Maintenance, id, decide, { ignoreIfMatch: true });
  return { id, revision: -1, position, state };
};

/** Records that an operator promoted a rebuild. @returns the rebuild, with the position of the recorded event */
export const recordPromotion = <T extends { id: string; projection: string; version: number }>(
  ctx: MaintenanceContext,
  rebuild: T,
): Promise<Loaded<T>> => record(ctx, rebuild.projection, Maintenance.promote(rebuild.projection, rebuild.version, rebuild.id), rebuild);

/**
 * Records that an operator retried a parked event.
 * @returns the parked event, with the position of the recorded event
 */
export const recordRetry = <T extends { projection: string; event_id: string }>(ctx: MaintenanceContext, parked: T): Promise<Loaded<T>> =>
  record(ctx, parked.projection, Maintenance.retry(parked.projection, parked.event_id), parked);
