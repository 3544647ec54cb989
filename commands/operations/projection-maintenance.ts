import type { Decision } from '../../domain/aggregate.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as Maintenance from '../../domain/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';

/** What ends a rebuild: the new rows replace the old ones, or are dropped. */
export type RebuildDecision = 'promote' | 'abort';

export type RebuildProgress = {
  readonly state: 'running' | 'ready' | 'promoted' | 'aborted' | 'failed';
  /** The decision that was requested before, but has not been carried out yet. */
  readonly requested: RebuildDecision | undefined;
};

/**
 * Whether the decision has to be requested: false if the same one has been requested before.
 * @throws Refusal conflict if the rebuild has ended, if it has not caught up and is to be promoted, or if the other
 * decision was requested
 */
export const mustRequest = (decision: RebuildDecision, { state, requested }: RebuildProgress): boolean => {
  if (state === 'promoted' || state === 'aborted') throw new Refusal('conflict', `The rebuild has already been ${state}`);
  if (decision === 'promote' && state !== 'ready')
    throw new Refusal('conflict', 'The rebuild has not caught up yet: try again', { retryAfter: 1 });
  if (requested !== undefined && requested !== decision)
    throw new Refusal('conflict', `Another operator has already requested to ${requested} this rebuild`);
  return requested === undefined;
};

/** What recording a decision needs of a context, so that a command line without a caller can record one too. */
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

/** Records that the caller promoted a rebuild. @returns the rebuild, with the position of the event */
export const recordPromotion = <T extends { id: string; projection: string; version: number }>(
  ctx: MaintenanceContext,
  rebuild: T,
): Promise<Loaded<T>> => record(ctx, rebuild.projection, Maintenance.promote(rebuild.projection, rebuild.version, rebuild.id), rebuild);

/**
 * Records that the caller had a parked event applied again.
 * @returns the parked event, with the position of the new event
 */
export const recordRetry = <T extends { projection: string; event_id: string }>(ctx: MaintenanceContext, parked: T): Promise<Loaded<T>> =>
  record(ctx, parked.projection, Maintenance.retry(parked.projection, parked.event_id), parked);
