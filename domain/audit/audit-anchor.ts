import type { Recorded } from '../event.ts';

/**
 * The signed heads of a tenant's audit tree that were sent to a service outside of the platform (AUDIT_ANCHOR_URL),
 * which keeps them as evidence. Each tenant has one stream, whose id is the id of the tenant.
 */
export const category = 'auditanchor';

/**
 * A signed head that the service at `host` has received; it responded with the HTTP status `status`. `head_id` is the
 * id of the event that contains the head.
 */
export type AnchoredHead = {
  readonly head_id: string;
  readonly size: number;
  readonly root: string;
  readonly host: string;
  readonly status: number;
};

export type AuditAnchorEvent = { type: 'AuditHeadAnchored'; data: AnchoredHead };
/** `size` is the number of entries in the tree of the newest head that was received; 0 if no head was received. */
export type AuditAnchor = { readonly size: number };

export const initial: AuditAnchor = { size: 0 };

export const evolve = (_: AuditAnchor, { data: { size } }: Recorded<AuditAnchorEvent>): AuditAnchor => ({ size });

/**
 * Records that a head was received. Does nothing if the receipt of this head, or of a newer one, is already recorded.
 */
export const recordAnchored =
  (head: AnchoredHead) =>
  ({ size }: AuditAnchor): AuditAnchorEvent[] =>
    head.size > size ? [{ type: 'AuditHeadAnchored', data: head }] : [];
