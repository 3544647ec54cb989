import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as LeafRule from '../../domain/audit/leaf-rule.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';

export type HeadSigning = {
  /** Returns at most MAX_HEAD_ENTRIES entries after `position` (null: from the start), in log order. */
  readonly entriesAfter: (tenant: string, position: string | null) => Promise<readonly AuditHead.Leaf[]>;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Returns no entries if the tenant is erased: its rows are removed in parts, but only after the log records the erasure. Without this
 * record, the rows that were read before are complete.
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

/** Records that the tree with this last head is replaced. False if this was already recorded. */
const changeLeafRule = async (ctx: ReactorCtx, last: AuditHead.AuditHeadFields): Promise<boolean> => {
  const { state } = await ctx.load(LeafRule, ctx.tenant);
  if (state.change) return false;
  await ctx.withSeed('leaf rule').transact(LeafRule, ctx.tenant, LeafRule.changeLeafRule(last));
  return true;
};

/**
 * Signs heads until they cover every audited event. Each head covers at most MAX_HEAD_ENTRIES new entries. If the tenant has only heads of
 * an earlier version, records the change; the next call signs.
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
