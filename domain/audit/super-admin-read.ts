import type { Recorded } from '../event.ts';

/**
 * Requests in which a super-admin who is not a member of a tenant reads data of the tenant. Each request has its own
 * stream. The tenant's audit log shows these events.
 */
export const category = 'visit';

export type SuperAdminReadEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type SuperAdminRead = { what: string | null };

export const initial: SuperAdminRead = { what: null };

export const evolve = (_: SuperAdminRead, event: Recorded<SuperAdminReadEvent>): SuperAdminRead => ({ what: event.data.what });

/** Records that a super-admin has read data of the tenant. `what` is the HTTP method and the path of the request. */
export const recordRead =
  (what: string) =>
  ({ what: recorded }: SuperAdminRead): SuperAdminReadEvent[] =>
    recorded === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
