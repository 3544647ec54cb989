import type { Recorded } from '../event.ts';
import type { AuditHeadFields } from './audit-head.ts';

/**
 * Records in the audit log of a tenant why its tree was started again. Each tenant has at most one such stream, whose id
 * is the id of the tenant. The event is an entry of the new tree, so signed heads cover it.
 */
export const category = 'auditrule';

const REASON = 'The leaves left out the data of events that are bytes, such as the bodies of deliveries. Now they cover them.';

/** The last head of the earlier tree, and why this tree gets no further heads. */
export type LeafRuleChange = Pick<AuditHeadFields, 'size' | 'root' | 'position' | 'key_id'> & { readonly reason: string };
export type LeafRuleEvent = { type: 'AuditLeafRuleChanged'; data: LeafRuleChange };
export type LeafRule = { readonly change: LeafRuleChange | null };

export const initial: LeafRule = { change: null };

export const evolve = (_: LeafRule, { data }: Recorded<LeafRuleEvent>): LeafRule => ({ change: data });

/** Records that the tree with this last head is replaced. Does nothing if this is already recorded. */
export const changeLeafRule =
  ({ size, root, position, key_id }: AuditHeadFields) =>
  ({ change }: LeafRule): LeafRuleEvent[] =>
    change ? [] : [{ type: 'AuditLeafRuleChanged', data: { size, root, position, key_id, reason: REASON } }];
