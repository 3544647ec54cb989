import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as LeafRule from '../../domain/audit/leaf-rule.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';

/** What is needed to sign the heads of a tenant: its audit log entries, and a signing key. */
export type HeadSigning = {
  /** Returns the audited events after a position (null: from the start), in log order, at most MAX_HEAD_ENTRIES. */
  readonly entriesAfter: (tenant: string, position: string | null) => Promise<readonly AuditHead.Leaf[]>;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * The rows of an erased tenant are removed in parts, but only after the log records the erasure. So if the log does not
 * record an erasure after the rows were read, the rows are complete; otherwise, none are returned.
 */
const completeEntriesAfter = async (
  ctx: ReactorCtx,
  { entriesAfter }: HeadSigning,
  position: string | null,
): Promise<readonly AuditHead.Leaf[]> => {
  const leaves = await entriesAfter(ctx.tenant, position);
  const { state } = await ctx.load(Tenant, ctx.tenant);
  return state.erasure?.record ? [] : leaves;
};

/** Records in the audit log that the tree with this last head is replaced. Returns false if this was already recorded. */
const changeLeafRule = async (ctx: ReactorCtx, last: AuditHead.AuditHeadFields): Promise<boolean> => {
  const { state } = await ctx.load(LeafRule, ctx.tenant);
  if (state.change) return false;
  await ctx.withSeed('leaf rule').transact(LeafRule, ctx.tenant, LeafRule.changeLeafRule(last));
  return true;
};

/**
 * Signs heads until they cover every audited event of the context's tenant, each at most MAX_HEAD_ENTRIES more. If the
 * tenant has only heads of an earlier version, records the change; the next call then signs heads.
 * @returns the number of signed heads
 */
export const signHeads = async (ctx: ReactorCtx, signing: HeadSigning): Promise<number> => {
  const { tenant } = ctx;
  const at = ctx.at();
  let { state } = await ctx.load(AuditHead, tenant);
  for (let signed = 0; ; signed++) {
    const { position, size } = AuditHead.treeAfter(state);
    const leaves = await completeEntriesAfter(ctx, signing, position);
    if (leaves.length === 0) return signed;
    const earlier = AuditHead.earlierHead(state);
    if (earlier && (await changeLeafRule(ctx, earlier))) return signed;
    const decide = AuditHead.signHead(leaves, { tenant, at, sign: signing.sign });
    ({ state } = await ctx.withSeed(`${size} ${at}`).transact(AuditHead, tenant, decide));
    if (leaves.length < AuditHead.MAX_HEAD_ENTRIES || AuditHead.treeAfter(state).size === size) return signed + 1;
  }
};
