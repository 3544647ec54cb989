import type { Recorded } from '../event.ts';

/** Each read of a super-admin inside a tenant has a stream of its own, so that the tenant's audit log shows it. */
export const category = 'visit';

export type SuperAdminReadEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type SuperAdminRead = { what: string | null };

export const initial: SuperAdminRead = { what: null };

export const evolve = (_: SuperAdminRead, event: Recorded<SuperAdminReadEvent>): SuperAdminRead => ({ what: event.data.what });

/** Records a read. `what` is its method and path. */
export const recordRead =
  (what: string) =>
  ({ what: recorded }: SuperAdminRead): SuperAdminReadEvent[] =>
    recorded === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
