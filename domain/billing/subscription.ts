import type { ById } from '../immutable-record.ts';

export type PlanStatus = 'trialing' | 'active' | 'past_due' | 'canceled';

/** The states of a subscription at the payment provider, in the usual order of a subscription's life. */
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
 * The state of a subscription in one event of the payment provider. `created` is the time at which the provider created
 * the event, in Unix seconds. `plan_id` is the plan with the price of the subscription; null if there is none.
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
 * Maps each state of a subscription to the plan status that follows from it. Null: a subscription whose first payment
 * has not succeeded has no effect. The provider no longer collects invoices of an `unpaid` or `paused` subscription, so
 * it counts as canceled.
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
 * Plan statuses by precedence. If a tenant has several subscriptions, the subscription with the first of these statuses
 * counts.
 */
const PRECEDENCE: readonly PlanStatus[] = ['active', 'trialing', 'past_due', 'canceled'];

/**
 * The states in which a subscription can still be charged. A tenant that has such a subscription would pay for a second
 * one in addition.
 */
const OPEN: readonly SubscriptionStatus[] = ['trialing', 'active', 'past_due', 'unpaid', 'paused'];

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b);

/**
 * Compares two reports of one subscription; positive if `a` is the later one. The provider may deliver events in any
 * order, and its times have whole seconds. Of two events of the same second, the event whose status comes later in
 * SUBSCRIPTION_STATUSES is the later one.
 */
export const compareReports = (a: SubscriptionReport, b: SubscriptionReport): number =>
  a.created - b.created ||
  SUBSCRIPTION_STATUSES.indexOf(a.status) - SUBSCRIPTION_STATUSES.indexOf(b.status) ||
  compareTexts(a.event_id, b.event_id);

/** Returns the plan status that follows from a subscription; null if the subscription has no effect yet. */
export const planStatusOf = ({ status }: SubscriptionReport): PlanStatus | null => PLAN_STATUS[status];

const isBefore = (a: SubscriptionReport, b: SubscriptionReport): boolean => {
  const order = PRECEDENCE.indexOf(planStatusOf(a)!) - PRECEDENCE.indexOf(planStatusOf(b)!);
  return (order || b.created - a.created || compareTexts(b.subscription_id, a.subscription_id)) < 0;
};

/**
 * Returns the subscription that decides the plan and its status: the active one if there is one, else the trialing one,
 * the overdue one or the canceled one; of several, the newest. Null if no subscription has an effect.
 */
export const effectiveSubscription = (subscriptions: Subscriptions): SubscriptionReport | null => {
  let best: SubscriptionReport | null = null;
  for (const one of Object.values(subscriptions)) {
    if (planStatusOf(one) === null) continue;
    if (!best || isBefore(one, best)) best = one;
  }
  return best;
};

/** Whether one of the subscriptions can still be charged. */
export const hasOpenSubscription = (subscriptions: Subscriptions): boolean =>
  Object.values(subscriptions).some(({ status }) => OPEN.includes(status));

/** Returns the tenant's customer id at the payment provider from the newest report; null if there is no report. */
export const customerOf = (subscriptions: Subscriptions): string | null =>
  Object.values(subscriptions).reduce<SubscriptionReport | null>(
    (newest, one) => (newest && (newest.created - one.created || compareTexts(newest.event_id, one.event_id)) >= 0 ? newest : one),
    null,
  )?.customer_id ?? null;
