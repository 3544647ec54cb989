import type { Decision } from '../../domain/aggregate.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import * as Maintenance from '../../domain/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded, UsesSecrets } from '../context.ts';
import { Reason } from '../tenants/tenant.ts';

export const PromotionReason = Reason.partial().meta({ id: 'PromotionReason' });

/** `promote`: the new rows replace the live ones. `abort`: they are dropped. */
export type RebuildDecision = 'promote' | 'abort';

/** Who requested a rebuild, or its promotion or abort. `name`: at that time; null if there is none. */
export type Operator = { readonly kind: Actor['kind']; readonly id: string; readonly name: string | null };

export type RebuildProgress = {
  readonly state: 'running' | 'ready' | 'promoted' | 'aborted' | 'failed';
  /** Null if no end was requested, or if it is unknown by whom. */
  readonly decided_by: Operator | null;
  /** Requested and not carried out yet. */
  readonly requested: RebuildDecision | undefined;
};

/**
 * False if the same operator has already made the same request.
 * @throws Refusal conflict if the rebuild has ended, has not caught up with the log (to promote it), or if another decision or operator is
 * stored
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

/** Without a caller, so the command line can provide it, too. */
export type MaintenanceContext = Pick<Ctx, 'transact'> & UsesSecrets<'uniqueId'>;

const record = async <T>(
  ctx: MaintenanceContext,
  projection: string,
  decide: Decision<Maintenance.ProjectionMaintenance, Maintenance.ProjectionMaintenanceEvent>,
  state: T,
): Promise<Loaded<T>> => {
  const id = ctx.secrets.uniqueId('projection', projection, 0, PLATFORM);
  const { position } = await ctx.transact(Maintenance, id, decide, { ignoreExpectedRevision: true });
  return { id, revision: -1, position, state };
};

/** @returns the rebuild, and the position of the event that records its promotion */
export const recordPromotion = <T extends Maintenance.PromotedRebuild>(ctx: MaintenanceContext, rebuild: T): Promise<Loaded<T>> =>
  record(ctx, rebuild.projection, Maintenance.promote(rebuild), rebuild);

/** @returns the parked event, and the position of the event that records the retry */
export const recordRetry = <T extends { projection: string; event_id: string }>(ctx: MaintenanceContext, parked: T): Promise<Loaded<T>> =>
  record(ctx, parked.projection, Maintenance.retry(parked.projection, parked.event_id), parked);
