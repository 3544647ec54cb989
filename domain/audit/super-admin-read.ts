import type { Recorded } from '../event.ts';

/**
 * When a super-admin reads data of a tenant without being a member, each request is recorded in a stream of its own.
 * The tenant's audit log shows these events.
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
