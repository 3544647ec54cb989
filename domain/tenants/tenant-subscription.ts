import { compareReports, effectiveSubscription, planStatusOf, type SubscriptionReport } from '../billing/subscription.ts';
import { assertExists, type Tenant, type TenantEvent } from './tenant.ts';

const REASON = 'The subscription has changed';

/**
 * Changes plan and status if they now result differently from the subscriptions. Does nothing if the report is not newer than the
 * subscription's newest one: the order of arrival does not matter.
 * @throws Refusal not_found if the tenant does not exist
 */
export const recordSubscription =
  (report: SubscriptionReport) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const known = tenant.subscriptions[report.subscription_id];
    if (known && compareReports(report, known) <= 0) return [];
    const before = effectiveSubscription(tenant.subscriptions);
    const after = effectiveSubscription({ ...tenant.subscriptions, [report.subscription_id]: report });
    const plan_status = after ? planStatusOf(after) : null;
    const plan_id = after?.plan_id ?? null;
    return [
      { type: 'PaymentEventRecorded', data: report },
      ...(plan_id !== null && plan_id !== before?.plan_id && plan_id !== tenant.plan_id
        ? [{ type: 'TenantPlanChanged' as const, data: { plan_id, reason: REASON } }]
        : []),
      ...(plan_status !== null && plan_status !== tenant.plan_status
        ? [{ type: 'TenantPlanStatusChanged' as const, data: { plan_status } }]
        : []),
    ];
  };
