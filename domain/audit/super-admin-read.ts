import type { Recorded } from '../event.ts';

/**
 * Each request by which a super-admin reads in a tenant is recorded in a stream of its own. The tenant's audit log
 * shows it.
 */
export const category = 'visit';

export type SuperAdminReadEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type SuperAdminRead = { what: string | null };

export const initial: SuperAdminRead = { what: null };

export const evolve = (_: SuperAdminRead, event: Recorded<SuperAdminReadEvent>): SuperAdminRead => ({ what: event.data.what });

/** Records a read. `what` is the method and path of the request. */
export const recordRead =
  (what: string) =>
  ({ what: recorded }: SuperAdminRead): SuperAdminReadEvent[] =>
    recorded === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
