import type { Recorded } from '../event.ts';

/**
 * The checkouts and visits of the billing portal that members of a tenant have started at the payment provider. They
 * have a separate stream, because events in the tenant's stream would change the revision of the tenant.
 */
export const category = 'billing';

export type BillingEvent =
  | { type: 'CheckoutStarted'; data: { session_id: string; price_id: string; plan_id: string } }
  | { type: 'BillingPortalOpened'; data: { customer_id: string } };

export type BillingRecord = { last_checkout_session: string | null; portal_opened_at: string | null };

export const initial: BillingRecord = { last_checkout_session: null, portal_opened_at: null };

export const evolve = (record: BillingRecord, { type, data, at }: Recorded<BillingEvent>): BillingRecord => {
  switch (type) {
    case 'CheckoutStarted':
      return { ...record, last_checkout_session: data.session_id };
    case 'BillingPortalOpened':
      return { ...record, portal_opened_at: at };
  }
};

/**
 * Records that a member started a checkout for a plan at a price. `session_id` is the provider's id of the checkout.
 */
export const startCheckout =
  (session_id: string, price_id: string, plan_id: string) =>
  ({ last_checkout_session }: BillingRecord): BillingEvent[] =>
    last_checkout_session === session_id ? [] : [{ type: 'CheckoutStarted', data: { session_id, price_id, plan_id } }];

/** Records that a member got a link to the billing portal of the payment provider. */
export const openPortal = (customer_id: string) => (): BillingEvent[] => [{ type: 'BillingPortalOpened', data: { customer_id } }];
