import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import type { HeadVersion } from '../../domain/audit/audit-head.ts';

/**
 * The signed head of a tenant's audit tree, as it is posted. `head_id` is the id of its event, and `public_key` is the
 * public key that verifies its signature.
 */
export type PostedHead = {
  readonly head_id: string;
  readonly tenant_id: string;
  readonly version: HeadVersion;
  readonly size: number;
  readonly root: string;
  readonly position: string;
  readonly at: string;
  readonly signature: string;
  readonly key_id: string;
  readonly public_key: string | null;
};

export type AnchorPorts = {
  /**
   * Posts a head. Returns the host to which it was posted, and the HTTP status of the response.
   * @throws Error if there is no response
   */
  readonly post: (head: PostedHead) => Promise<{ readonly host: string; readonly status: number }>;
  readonly load: (tenant: string) => Promise<AuditAnchor.AuditAnchor>;
  readonly transact: (
    tenant: string,
    head: Pick<PostedHead, 'version' | 'size'>,
    decide: (state: AuditAnchor.AuditAnchor) => AuditAnchor.AuditAnchorEvent[],
  ) => Promise<unknown>;
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Posts a head to AUDIT_ANCHOR_URL, and records that the receiver has it. Does nothing if this is already recorded.
 * @throws Error if the head was not received
 */
export const anchorHead = async (ports: AnchorPorts, head: PostedHead): Promise<void> => {
  const { head_id, tenant_id, version, size, root } = head;
  if (AuditAnchor.isAnchored(await ports.load(tenant_id), head)) return;
  const { host, status } = await ports.post(head);
  if (!isSuccess(status)) throw new Error(`${host} answers ${status}`);
  await ports.transact(tenant_id, head, AuditAnchor.recordAnchored({ head_id, version, size, root, host, status }));
};
