import type { Recorded } from '../event.ts';

/**
 * Records which signed heads of a tenant's audit tree a service outside the platform (AUDIT_ANCHOR_URL) has received.
 * Each tenant has one stream, whose id is the id of the tenant.
 */
export const category = 'auditanchor';

/**
 * The service at `host` has received the head, and answered with the HTTP status `status`. `head_id` is the id of the
 * event of the head.
 */
export type AnchoredHead = {
  readonly head_id: string;
  readonly size: number;
  readonly root: string;
  readonly host: string;
  readonly status: number;
};

export type AuditAnchorEvent = { type: 'AuditHeadAnchored'; data: AnchoredHead };
/** `size` is the number of entries of the newest head that was received; 0 if none was received. */
export type AuditAnchor = { readonly size: number };

export const initial: AuditAnchor = { size: 0 };

export const evolve = (_: AuditAnchor, { data: { size } }: Recorded<AuditAnchorEvent>): AuditAnchor => ({ size });

/** Records that a head was received. Does nothing if this head or a newer one is already recorded. */
export const recordAnchored =
  (head: AnchoredHead) =>
  ({ size }: AuditAnchor): AuditAnchorEvent[] =>
    head.size > size ? [{ type: 'AuditHeadAnchored', data: head }] : [];
