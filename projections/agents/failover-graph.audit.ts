import type { FailoverEvent } from '../../domain/agents/failover-graph.ts';
import type { AuditOf } from '../audit-record.ts';

export const failoverGraphAudit = {
  FailoverChainChecked: { summary: 'checked the failover chain of the model {model_id}', activity: 'read' },
} satisfies AuditOf<FailoverEvent>;
