import type { Recorded } from '../event.ts';

/** A super-admin who is not a member reads data of a tenant. One stream per request; the tenant's audit log shows the event. */
export const category = 'visit';

export type SuperAdminReadEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type SuperAdminRead = { what: string | null };

export const initial: SuperAdminRead = { what: null };

export const evolve = (_: SuperAdminRead, event: Recorded<SuperAdminReadEvent>): SuperAdminRead => ({ what: event.data.what });

/** `what`: HTTP method and path. */
export const recordRead =
  (what: string) =>
  ({ what: recorded }: SuperAdminRead): SuperAdminReadEvent[] =>
    recorded === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
