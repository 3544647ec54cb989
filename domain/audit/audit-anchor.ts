import type { Recorded } from '../event.ts';
import type { HeadVersion } from './audit-head.ts';

/**
 * Signed heads of a tenant's audit tree that a service outside of the platform (AUDIT_ANCHOR_URL) keeps as evidence. One stream per
 * tenant, with its id.
 */
export const category = 'auditanchor';

/** The service at `host` received it and answered with the HTTP status `status`. `head_id`: the event that contains the head. */
export type AnchoredHead = {
  readonly head_id: string;
  /** Absent if 1. */
  readonly version?: HeadVersion;
  readonly size: number;
  readonly root: string;
  readonly host: string;
  readonly status: number;
};

export type AuditAnchorEvent = { type: 'AuditHeadAnchored'; data: AnchoredHead };
/** The newest head that was received; `size` (number of entries) is 0 if none was. */
export type AuditAnchor = { readonly version: HeadVersion; readonly size: number };

export const initial: AuditAnchor = { version: 1, size: 0 };

export const evolve = (_: AuditAnchor, { data: { version = 1, size } }: Recorded<AuditAnchorEvent>): AuditAnchor => ({ version, size });

export const isAnchored = (anchored: AuditAnchor, { version = 1, size }: Pick<AnchoredHead, 'version' | 'size'>): boolean =>
  anchored.version === version ? anchored.size >= size : anchored.version > version;

/** Does nothing if the receipt of this head, or of a newer one, is already recorded. */
export const recordAnchored =
  (head: AnchoredHead) =>
  (anchored: AuditAnchor): AuditAnchorEvent[] =>
    isAnchored(anchored, head) ? [] : [{ type: 'AuditHeadAnchored', data: head }];
