import * as AuditHead from '../../domain/audit/audit-head.ts';

/** What the reactor needs: the entries of tenants, their streams of heads, and a key. */
export type SigningPorts = {
  /** Returns the entries of a tenant after a position (null: all), in log order: at most MAX_HEAD_ENTRIES. */
  readonly entriesAfter: (tenant: string, position: string | null) => Promise<readonly AuditHead.Leaf[]>;
  readonly load: (tenant: string) => Promise<AuditHead.AuditHead>;
  /** Decides on the tenant's head after one of `size` entries, and appends what is decided. */
  readonly transact: (
    tenant: string,
    size: number,
    decide: (state: AuditHead.AuditHead) => AuditHead.AuditHeadEvent[],
  ) => Promise<AuditHead.AuditHead>;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Signs heads over the entries of a tenant that none covers. While there are more, each head has MAX_HEAD_ENTRIES of
 * them. `at` is the time of the heads (RFC 3339 UTC). Returns how many were signed.
 */
export const signHeads = async (ports: SigningPorts, tenant: string, at: string): Promise<number> => {
  let state = await ports.load(tenant);
  for (let signed = 0; ; signed++) {
    const { position, size } = AuditHead.treeAfter(state);
    const leaves = await ports.entriesAfter(tenant, position);
    if (leaves.length === 0) return signed;
    state = await ports.transact(tenant, size, AuditHead.signHead(leaves, { tenant, at, sign: ports.sign }));
    if (leaves.length < AuditHead.MAX_HEAD_ENTRIES || AuditHead.treeAfter(state).size === size) return signed + 1;
  }
};
