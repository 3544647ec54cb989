import type { Decision } from '../../domain/aggregate.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import * as Maintenance from '../../domain/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { Reason } from '../tenants/tenant.ts';

export const PromotionReason = Reason.partial().meta({ id: 'PromotionReason' });

/** How a rebuild ends. `promote`: the new rows replace the live ones. `abort`: the new rows are dropped. */
export type RebuildDecision = 'promote' | 'abort';

/**
 * The person who requested a rebuild, or its promotion or abort. `name` is the name of this operator at that time; null
 * if the operator has none.
 */
export type Operator = { readonly kind: Actor['kind']; readonly id: string; readonly name: string | null };

export type RebuildProgress = {
  readonly state: 'running' | 'ready' | 'promoted' | 'aborted' | 'failed';
  /** The operator who requested how the rebuild ends; null if nobody has, or if it is unknown who did. */
  readonly decided_by: Operator | null;
  /** The end (`promote` or `abort`) that was requested and has not been carried out yet; undefined if there is none. */
  readonly requested: RebuildDecision | undefined;
};

/**
 * Returns whether an operator's request to promote or abort a rebuild must be stored. It need not be if the same
 * operator has already made the same request.
 * @throws Refusal conflict if the rebuild has ended, if it is to be promoted but has not caught up with the log, or if
 * a request for the other end or by another operator is already stored
 */
export const mustRequest = (decision: RebuildDecision, by: Operator, { state, decided_by, requested }: RebuildProgress): boolean => {
  const other = decided_by?.name ?? decided_by?.id;
  if (state === 'promoted' || state === 'aborted')
    throw new Refusal('conflict', `The rebuild has already been ${state}${other ? ` by ${other}` : ''}`);
  if (decision === 'promote' && state !== 'ready')
    throw new Refusal('conflict', 'The rebuild has not caught up yet: try again', { retryAfter: 1 });
  if (requested !== undefined && (requested !== decision || decided_by?.id !== by.id))
    throw new Refusal('conflict', `${other ?? 'Another operator'} has already requested to ${requested} this rebuild`);
  return requested === undefined;
};

/**
 * The part of a request context that is needed to record what an operator did. It does not include a caller, so the
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

/**
 * Records that an operator promoted a rebuild.
 * @returns the rebuild, and the position of the event that records this
 */
export const recordPromotion = <T extends Maintenance.PromotedRebuild>(ctx: MaintenanceContext, rebuild: T): Promise<Loaded<T>> =>
  record(ctx, rebuild.projection, Maintenance.promote(rebuild), rebuild);

/**
 * Records that an operator retried a parked event.
 * @returns the parked event, and the position of the event that records this
 */
export const recordRetry = <T extends { projection: string; event_id: string }>(ctx: MaintenanceContext, parked: T): Promise<Loaded<T>> =>
  record(ctx, parked.projection, Maintenance.retry(parked.projection, parked.event_id), parked);
