import type { ById } from '../immutable-record.ts';

export type PlanStatus = 'trialing' | 'active' | 'past_due' | 'canceled';

/** Statuses at the payment provider, in their usual order. */
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
 * The report of one event of the payment provider. `created`: of the event, in Unix seconds. `plan_id`: the plan of the price; null if it
 * belongs to none.
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

/** The newest report of each subscription, by id. */
export type Subscriptions = ById<SubscriptionReport>;

/**
 * Null: no effect, because the first payment has not succeeded. `unpaid` and `paused` count as canceled, because the provider no longer
 * collects the invoices.
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

/** The strongest first. If there are several subscriptions, the strongest decides. */
const PRECEDENCE: readonly PlanStatus[] = ['active', 'trialing', 'past_due', 'canceled'];

/** The statuses that can still cost money: with one of these, a second subscription is refused, because the tenant would pay for both. */
const OPEN: readonly SubscriptionStatus[] = ['trialing', 'active', 'past_due', 'unpaid', 'paused'];

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b);

/**
 * Positive if `a` is later. The provider delivers events in any order, with times in whole seconds; at the same time, the status later in
 * SUBSCRIPTION_STATUSES wins.
 */
export const compareReports = (a: SubscriptionReport, b: SubscriptionReport): number =>
  a.created - b.created ||
  SUBSCRIPTION_STATUSES.indexOf(a.status) - SUBSCRIPTION_STATUSES.indexOf(b.status) ||
  compareTexts(a.event_id, b.event_id);

/** Null if the subscription has no effect yet. */
export const planStatusOf = ({ status }: SubscriptionReport): PlanStatus | null => PLAN_STATUS[status];

const isBefore = (a: SubscriptionReport, b: SubscriptionReport): boolean => {
  const order = PRECEDENCE.indexOf(planStatusOf(a)!) - PRECEDENCE.indexOf(planStatusOf(b)!);
  return (order || b.created - a.created || compareTexts(b.subscription_id, a.subscription_id)) < 0;
};

/** The strongest status (see PRECEDENCE), then the newest. Null if no subscription has an effect. */
export const effectiveSubscription = (subscriptions: Subscriptions): SubscriptionReport | null => {
  let best: SubscriptionReport | null = null;
  for (const one of Object.values(subscriptions)) {
    if (planStatusOf(one) === null) continue;
    if (!best || isBefore(one, best)) best = one;
  }
  return best;
};

/** Whether one can still cost money (see OPEN). */
export const hasOpenSubscription = (subscriptions: Subscriptions): boolean =>
  Object.values(subscriptions).some(({ status }) => OPEN.includes(status));

/** Returns the customer id at the payment provider, as the newest report states it. */
export const customerOf = (subscriptions: Subscriptions): string | null =>
  Object.values(subscriptions).reduce<SubscriptionReport | null>(
    (newest, one) => (newest && (newest.created - one.created || compareTexts(newest.event_id, one.event_id)) >= 0 ? newest : one),
    null,
  )?.customer_id ?? null;
