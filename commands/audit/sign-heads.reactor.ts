import * as AuditHead from '../../domain/audit/audit-head.ts';

/** What the reactor needs: the audit log entries of tenants, the streams of heads, and a signing key. */
export type SigningPorts = {
  /**
   * Returns the audited events of a tenant after a position (null: from the start), in log order, at most
   * MAX_HEAD_ENTRIES of them.
   */
  readonly entriesAfter: (tenant: string, position: string | null) => Promise<readonly AuditHead.Leaf[]>;
  readonly load: (tenant: string) => Promise<AuditHead.AuditHead>;
  /**
   * Makes a decision about the heads of a tenant, and appends the events that it returns. `size` is the number of
   * entries before the new head.
   */
  readonly transact: (
    tenant: string,
    size: number,
    decide: (state: AuditHead.AuditHead) => AuditHead.AuditHeadEvent[],
  ) => Promise<AuditHead.AuditHead>;
  /**
   * Records in the audit log of a tenant that the tree with this last head is replaced. Returns false if this was already
   * recorded.
   */
  readonly changeLeafRule: (tenant: string, last: AuditHead.AuditHeadFields) => Promise<boolean>;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Signs heads until they cover every audited event of a tenant. Each head covers at most MAX_HEAD_ENTRIES more events.
 * `at` is the time of the heads (RFC 3339 UTC). If the tenant has only heads of an earlier version, the change is first
 * recorded, and heads are signed by the next call, when the record is an entry, too.
 * @returns the number of signed heads
 */
export const signHeads = async (ports: SigningPorts, tenant: string, at: string): Promise<number> => {
  let state = await ports.load(tenant);
  for (let signed = 0; ; signed++) {
    const { position, size } = AuditHead.treeAfter(state);
    const leaves = await ports.entriesAfter(tenant, position);
    if (leaves.length === 0) return signed;
    const earlier = AuditHead.earlierHead(state);
    if (earlier && (await ports.changeLeafRule(tenant, earlier))) return signed;
    state = await ports.transact(tenant, size, AuditHead.signHead(leaves, { tenant, at, sign: ports.sign }));
    if (leaves.length < AuditHead.MAX_HEAD_ENTRIES || AuditHead.treeAfter(state).size === size) return signed + 1;
  }
};
