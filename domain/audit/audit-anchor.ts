import type { Recorded } from '../event.ts';
import type { HeadVersion } from './audit-head.ts';

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
  /** The version of the tree; absent if it is 1. */
  readonly version?: HeadVersion;
  readonly size: number;
  readonly root: string;
  readonly host: string;
  readonly status: number;
};

export type AuditAnchorEvent = { type: 'AuditHeadAnchored'; data: AnchoredHead };
/**
 * `version` and `size` are the version and the number of entries of the tree of the newest head that was received;
 * `size` is 0 if no head was received.
 */
export type AuditAnchor = { readonly version: HeadVersion; readonly size: number };

export const initial: AuditAnchor = { version: 1, size: 0 };

export const evolve = (_: AuditAnchor, { data: { version = 1, size } }: Recorded<AuditAnchorEvent>): AuditAnchor => ({ version, size });

/** Returns whether the receipt of this head, or of a newer one, is recorded. */
export const isAnchored = (anchored: AuditAnchor, { version = 1, size }: Pick<AnchoredHead, 'version' | 'size'>): boolean =>
  anchored.version === version ? anchored.size >= size : anchored.version > version;

/**
 * Records that a head was received. Does nothing if the receipt of this head, or of a newer one, is already recorded.
 */
export const recordAnchored =
  (head: AnchoredHead) =>
  (anchored: AuditAnchor): AuditAnchorEvent[] =>
    isAnchored(anchored, head) ? [] : [{ type: 'AuditHeadAnchored', data: head }];
