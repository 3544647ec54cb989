import type { Recorded } from '../event.ts';

/**
 * Which signed heads of a tenant a place outside the platform has received: one stream per tenant, whose id is that of
 * the tenant.
 */
export const category = 'auditanchor';

/** `head_id` is the id of the head's event. `host` has received the head, and has answered with `status`. */
export type AnchoredHead = {
  readonly head_id: string;
  readonly size: number;
  readonly root: string;
  readonly host: string;
  readonly status: number;
};

export type AuditAnchorEvent = { type: 'AuditHeadAnchored'; data: AnchoredHead };
/** The size of the newest head that was received; 0 if none was. */
export type AuditAnchor = { readonly size: number };

export const initial: AuditAnchor = { size: 0 };

export const evolve = (_: AuditAnchor, { data: { size } }: Recorded<AuditAnchorEvent>): AuditAnchor => ({ size });

/** Records that a head was received, unless this one or a newer one was. */
export const recordAnchored =
  (head: AnchoredHead) =>
  ({ size }: AuditAnchor): AuditAnchorEvent[] =>
    head.size > size ? [{ type: 'AuditHeadAnchored', data: head }] : [];
