import type { Recorded } from '../event.ts';

/** What a super-admin looked at inside a tenant: one stream each, for the tenant to see. */
export const category = 'visit';

export type VisitEvent = { type: 'SuperAdminRead'; data: { what: string } };
export type Visit = { what: string | null };

export const initial: Visit = { what: null };

export const evolve = (_: Visit, event: Recorded<VisitEvent>): Visit => ({ what: event.data.what });

/** `what` is the method and path of the read. */
export const visit =
  (what: string) =>
  ({ what: known }: Visit): VisitEvent[] =>
    known === null ? [{ type: 'SuperAdminRead', data: { what } }] : [];
