import type { Recorded } from '../event.ts';
import type { AuditHeadFields } from './audit-head.ts';

/**
 * Why a tenant's tree was started again. At most one stream per tenant, with its id. The event is an entry of the new tree, so signed
 * heads cover it.
 */
export const category = 'auditrule';

const REASON = 'The leaves left out the data of events that are bytes, such as the bodies of deliveries. Now they cover them.';

/** The last head of the earlier tree, and why it gets no further heads. */
export type LeafRuleChange = Pick<AuditHeadFields, 'size' | 'root' | 'position' | 'key_id'> & { readonly reason: string };
export type LeafRuleEvent = { type: 'AuditLeafRuleChanged'; data: LeafRuleChange };
export type LeafRule = { readonly change: LeafRuleChange | null };

export const initial: LeafRule = { change: null };

export const evolve = (_: LeafRule, { data }: Recorded<LeafRuleEvent>): LeafRule => ({ change: data });

/** Does nothing if this is already recorded. */
export const changeLeafRule =
  ({ size, root, position, key_id }: AuditHeadFields) =>
  ({ change }: LeafRule): LeafRuleEvent[] =>
    change ? [] : [{ type: 'AuditLeafRuleChanged', data: { size, root, position, key_id, reason: REASON } }];
