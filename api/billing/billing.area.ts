import type { Area, Needs } from '../area.ts';
import { agentCostOperations } from './agent-costs.ts';
import { budgetOperations } from './budget.ts';
import { budgetUsageOperations } from './budget-usage.ts';
import { costBreakdownOperations } from './cost-breakdown.ts';
import { paymentWebhook } from './payment-webhook.ts';
import { paymentOperationsOf } from './payments.ts';
import { planOperations } from './plan.ts';

export const billingArea = {
  title: 'Billing',
  description: 'Plans with their limits, payments of tenants, and payouts to sellers.',
  operations: ({ payments }: Needs<'payments'>) => ({
    ...budgetOperations,
    ...agentCostOperations,
    ...costBreakdownOperations,
    ...budgetUsageOperations,
    ...planOperations,
    ...paymentOperationsOf(payments),
  }),
  plainRoutes: [paymentWebhook],
} satisfies Area;
