import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import type { HeadVersion } from '../../domain/audit/audit-head.ts';
import type { ReactorCtx } from '../context.ts';

/** The signed head as it is posted. `head_id`: its event; `public_key` verifies its signature. */
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

/** Returns host and HTTP status of the response. @throws Error if there is no response */
export type PostHead = (head: PostedHead) => Promise<{ readonly host: string; readonly status: number }>;

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** The seed of the event that records the receipt. */
const seedOf = ({ version, size }: PostedHead): string => (version === 1 ? `${size}` : `${version} ${size}`);

/** Posts to AUDIT_ANCHOR_URL. Does nothing if the receipt is already recorded. @throws Error if the head was not received */
export const anchorHead = async (ctx: ReactorCtx, post: PostHead, head: PostedHead): Promise<void> => {
  const { head_id, tenant_id, version, size, root } = head;
  const ofHead = ctx.inTenant(tenant_id).withSeed(seedOf(head));
  if (AuditAnchor.isAnchored((await ofHead.load(AuditAnchor, tenant_id)).state, head)) return;
  const { host, status } = await post(head);
  if (!isSuccess(status)) throw new Error(`${host} answers ${status}`);
  await ofHead.transact(AuditAnchor, tenant_id, AuditAnchor.recordAnchored({ head_id, version, size, root, host, status }));
};
