import type { Recorded } from '../event.ts';

/**
 * What operators have done to a projection: promotions of rebuilds, and retries of parked events. Each projection has
 * one stream.
 */
export const category = 'upkeep';
export const platform = true;

export type ProjectionMaintenanceEvent =
  | { type: 'ProjectionPromoted'; data: { projection: string; version: number; rebuild_id: string; reason?: string } }
  | { type: 'ParkedEventRetried'; data: { projection: string; event_id: string } };

/** A rebuild that an operator promotes. `reason` is why; null if the operator gave no reason. */
export type PromotedRebuild = {
  readonly id: string;
  readonly projection: string;
  readonly version: number;
  readonly reason: string | null;
};

/** `promoted` is the id of the rebuild that was promoted last; null if there is none. */
export type ProjectionMaintenance = { promoted: string | null };

export const initial: ProjectionMaintenance = { promoted: null };

export const evolve = (maintenance: ProjectionMaintenance, event: Recorded<ProjectionMaintenanceEvent>): ProjectionMaintenance =>
  event.type === 'ProjectionPromoted' ? { promoted: event.data.rebuild_id } : maintenance;

/**
 * Records that an operator promoted a rebuild of a projection, which means that the rebuilt rows replace the live ones.
 */
export const promote =
  ({ id, projection, version, reason }: PromotedRebuild) =>
  ({ promoted }: ProjectionMaintenance): ProjectionMaintenanceEvent[] => {
    if (promoted === id) return [];
    return [{ type: 'ProjectionPromoted', data: { projection, version, rebuild_id: id, ...(reason ? { reason } : {}) } }];
  };

/** Records that an operator retried an event that the projection could not apply before. */
export const retry = (projection: string, event_id: string) => (): ProjectionMaintenanceEvent[] => [
  { type: 'ParkedEventRetried', data: { projection, event_id } },
];
