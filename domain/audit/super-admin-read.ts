import type { Recorded } from '../event.ts';

/** What a super-admin looked at inside a tenant: one stream each, for the tenant to see. */
export const category = 'visit';

export type SuperAdminReadEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type SuperAdminRead = { what: string | null };

export const initial: SuperAdminRead = { what: null };

export const evolve = (_: SuperAdminRead, event: Recorded<SuperAdminReadEvent>): SuperAdminRead => ({ what: event.data.what });

/** `what` is the method and path of the read. */
export const recordRead =
  (what: string) =>
  ({ what: known }: SuperAdminRead): SuperAdminReadEvent[] =>
    known === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
