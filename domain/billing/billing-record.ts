import type { Recorded } from '../event.ts';

/** Checkouts and visits of the billing portal. A separate stream, because events in the tenant's stream would change its revision. */
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

/** `session_id`: the payment provider's id of the checkout. */
export const startCheckout =
  (session_id: string, price_id: string, plan_id: string) =>
  ({ last_checkout_session }: BillingRecord): BillingEvent[] =>
    last_checkout_session === session_id ? [] : [{ type: 'CheckoutStarted', data: { session_id, price_id, plan_id } }];

export const openPortal = (customer_id: string) => (): BillingEvent[] => [{ type: 'BillingPortalOpened', data: { customer_id } }];
