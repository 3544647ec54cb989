import type { PlanEvent } from '../../domain/billing/plan.ts';
import type { AuditOf } from '../audit-record.ts';

export const planAudit = {
  PlanCreated: { summary: 'created the plan {resource}', activity: 'create', first: true, fields: () => ({}) },
} satisfies AuditOf<PlanEvent>;
