import type { ById } from '../immutable-record.ts';

export type PlanStatus = 'trialing' | 'active' | 'past_due' | 'canceled';

/**
 * The statuses of a subscription at the payment provider, in the order in which a subscription usually passes through
 * them.
 */
export const SUBSCRIPTION_STATUSES = [
  'incomplete',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'incomplete_expired',
  'canceled',
] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

/**
 * The state of a subscription, as one event of the payment provider reports it. `created` is the time at which the
 * provider created the event, in Unix seconds. `plan_id` is the plan to which the price of the subscription belongs;
 * null if it belongs to none.
 */
export type SubscriptionReport = {
  readonly event_id: string;
  readonly event_type: string;
  readonly created: number;
  readonly subscription_id: string;
  readonly customer_id: string;
  readonly status: SubscriptionStatus;
  readonly price_id: string | null;
  readonly plan_id: string | null;
};

/** Maps the id of each subscription of a tenant to its newest report. */
export type Subscriptions = ById<SubscriptionReport>;

/**
 * Maps the status of a subscription to the status of the plan that results from it; null if the subscription has no
 * effect, because its first payment has not succeeded. An `unpaid` or `paused` subscription counts as canceled, because
 * the provider no longer collects its invoices.
 */
const PLAN_STATUS: Readonly<Record<SubscriptionStatus, PlanStatus | null>> = {
  incomplete: null,
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'canceled',
  paused: 'canceled',
  incomplete_expired: null,
  canceled: 'canceled',
};

/**
 * The statuses of a plan, the strongest first. If a tenant has several subscriptions, the one with the strongest status
 * decides.
 */
const PRECEDENCE: readonly PlanStatus[] = ['active', 'trialing', 'past_due', 'canceled'];

/**
 * The statuses in which a subscription can still cost money. A tenant with such a subscription must not start a second
 * one, because it would pay for both.
 */
const OPEN: readonly SubscriptionStatus[] = ['trialing', 'active', 'past_due', 'unpaid', 'paused'];

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b);

/**
 * Compares two reports about one subscription; the result is positive if `a` is the later one. The provider delivers
 * events in any order, and their times are whole seconds. If two events have the same time, the one whose status comes
 * later in SUBSCRIPTION_STATUSES is the later one.
 */
export const compareReports = (a: SubscriptionReport, b: SubscriptionReport): number =>
  a.created - b.created ||
  SUBSCRIPTION_STATUSES.indexOf(a.status) - SUBSCRIPTION_STATUSES.indexOf(b.status) ||
  compareTexts(a.event_id, b.event_id);

/** Returns the plan status that results from a subscription; null if the subscription has no effect yet. */
export const planStatusOf = ({ status }: SubscriptionReport): PlanStatus | null => PLAN_STATUS[status];

const isBefore = (a: SubscriptionReport, b: SubscriptionReport): boolean => {
  const order = PRECEDENCE.indexOf(planStatusOf(a)!) - PRECEDENCE.indexOf(planStatusOf(b)!);
  return (order || b.created - a.created || compareTexts(b.subscription_id, a.subscription_id)) < 0;
};

/**
 * Returns the subscription that decides the plan and its status: that with the strongest status (see PRECEDENCE) and,
 * of several with this status, the newest. Null if no subscription has an effect.
 */
export const effectiveSubscription = (subscriptions: Subscriptions): SubscriptionReport | null => {
  let best: SubscriptionReport | null = null;
  for (const one of Object.values(subscriptions)) {
    if (planStatusOf(one) === null) continue;
    if (!best || isBefore(one, best)) best = one;
  }
  return best;
};

/** Returns whether one of the subscriptions can still cost money (see OPEN). */
export const hasOpenSubscription = (subscriptions: Subscriptions): boolean =>
  Object.values(subscriptions).some(({ status }) => OPEN.includes(status));

/**
 * Returns the tenant's customer id at the payment provider, as the newest report states it; null if there is no report.
 */
export const customerOf = (subscriptions: Subscriptions): string | null =>
  Object.values(subscriptions).reduce<SubscriptionReport | null>(
    (newest, one) => (newest && (newest.created - one.created || compareTexts(newest.event_id, one.event_id)) >= 0 ? newest : one),
    null,
  )?.customer_id ?? null;
