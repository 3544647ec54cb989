import type { BudgetEvent } from '../../domain/billing/budget-hour.ts';
import type { AuditOf } from '../audit-record.ts';

export const budgetHourAudit = {
  BudgetReserved: { summary: 'reserved a part of the hourly budget of the agent {agent}', activity: 'create' },
  BudgetSettled: { summary: 'settled a reservation of the hourly budget of the agent {agent}', activity: 'update' },
  BudgetRefused: { summary: 'was refused a part of the hourly budget of the agent {agent}', activity: 'other', refused: true },
  BudgetUsageCounted: { summary: 'counted the costs of sessions against the hourly budget of the agent {agent}', activity: 'update' },
  BudgetSessionRefused: {
    summary: 'was refused a session of the agent {agent}, because its hourly budget was spent',
    activity: 'other',
    refused: true,
  },
  BudgetThresholdReached: {
    summary: 'reported that {percent} % of the hourly budget of the agent {agent} are spent or reserved',
    activity: 'other',
  },
} satisfies AuditOf<BudgetEvent>;
