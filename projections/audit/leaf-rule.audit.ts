import type { LeafRuleEvent } from '../../domain/audit/leaf-rule.ts';
import type { AuditOf } from '../audit-record.ts';

export const leafRuleAudit = {
  AuditLeafRuleChanged: { summary: 'started the audit tree of the tenant again after {size} entries: {reason}', activity: 'update' },
} satisfies AuditOf<LeafRuleEvent>;
