import type { Recorded } from '../event.ts';

/** What operators decided about a projection: one stream each. */
export const category = 'upkeep';
export const platform = true;

export type ProjectionMaintenanceEvent =
  | { type: 'ProjectionPromoted'; data: { projection: string; version: number; rebuild_id: string } }
  | { type: 'ParkedEventRetried'; data: { projection: string; event_id: string } };

/** `promoted` is the last rebuild that an operator promoted. */
export type ProjectionMaintenance = { promoted: string | null };

export const initial: ProjectionMaintenance = { promoted: null };

export const evolve = (upkeep: ProjectionMaintenance, event: Recorded<ProjectionMaintenanceEvent>): ProjectionMaintenance =>
  event.type === 'ProjectionPromoted' ? { promoted: event.data.rebuild_id } : upkeep;

export const promote =
  (projection: string, version: number, rebuild_id: string) =>
  ({ promoted }: ProjectionMaintenance): ProjectionMaintenanceEvent[] =>
    promoted === rebuild_id ? [] : [{ type: 'ProjectionPromoted', data: { projection, version, rebuild_id } }];

export const retry = (projection: string, event_id: string) => (): ProjectionMaintenanceEvent[] => [
  { type: 'ParkedEventRetried', data: { projection, event_id } },
];
