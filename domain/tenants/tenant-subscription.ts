import { compareReports, effectiveSubscription, planStatusOf, type SubscriptionReport } from '../billing/subscription.ts';
import { assertExists, type Tenant, type TenantEvent } from './tenant.ts';

const REASON = 'The subscription has changed';

/**
 * Records the state of a subscription that an event of the payment provider reports. Changes the plan and its status if
 * they result differently from the subscriptions now. Does nothing if the report is not newer than the newest one of
 * the same subscription; so the result does not depend on the order in which reports arrive.
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
