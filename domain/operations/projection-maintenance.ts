import type { Recorded } from '../event.ts';

/** What operators have done to a projection; one stream each. */
export const category = 'upkeep';
export const platform = true;

export type ProjectionMaintenanceEvent =
  | { type: 'ProjectionPromoted'; data: { projection: string; version: number; rebuild_id: string; reason?: string } }
  | { type: 'ParkedEventRetried'; data: { projection: string; event_id: string } };

/** `reason` is null if the operator gave none. */
export type PromotedRebuild = {
  readonly id: string;
  readonly projection: string;
  readonly version: number;
  readonly reason: string | null;
};

/** `promoted`: the rebuild that was promoted last. */
export type ProjectionMaintenance = { promoted: string | null };

export const initial: ProjectionMaintenance = { promoted: null };

export const evolve = (maintenance: ProjectionMaintenance, event: Recorded<ProjectionMaintenanceEvent>): ProjectionMaintenance =>
  event.type === 'ProjectionPromoted' ? { promoted: event.data.rebuild_id } : maintenance;

/** The rebuilt rows replace the live ones. */
export const promote =
  ({ id, projection, version, reason }: PromotedRebuild) =>
  ({ promoted }: ProjectionMaintenance): ProjectionMaintenanceEvent[] => {
    if (promoted === id) return [];
    return [{ type: 'ProjectionPromoted', data: { projection, version, rebuild_id: id, ...(reason ? { reason } : {}) } }];
  };

/** Retries an event that the projection could not apply before. */
export const retry = (projection: string, event_id: string) => (): ProjectionMaintenanceEvent[] => [
  { type: 'ParkedEventRetried', data: { projection, event_id } },
];
