import { z } from 'zod';
import { CheckoutSessionStart, openBillingPortal, startCheckout } from '../../commands/billing/checkout.ts';
import type { PaymentProvider } from '../../commands/billing/payment-provider.ts';
import { assertSeller, readSeller, startSellerOnboarding } from '../../commands/billing/seller.ts';
import { planWithPrice } from '../../projections/billing/plan.queries.ts';
import { operation } from '../http/operation.ts';

const BILLING = '/tenant/:tenant_id/billing';
const USER_ONLY = 'Requires the credential of a user. An API key with a lesser role than that of its owner is refused.';

const redirectTo = (description: string, example: string) => z.string().meta({ description, examples: [example] });

const CheckoutSessionRedirect = z
  .object({
    url: redirectTo('Where the browser is sent to pay', 'https://checkout.stripe.com/c/pay/cs_test_a1b2c3'),
    session_id: z.string().meta({ description: 'The id of the checkout at the payment provider', examples: ['cs_test_a1b2c3'] }),
  })
  .meta({ id: 'CheckoutSessionRedirect' });

const BillingPortalRedirect = z
  .object({ url: redirectTo('Where the browser is sent; valid for some minutes', 'https://billing.stripe.com/p/session/test_a1b2c3') })
  .meta({ id: 'BillingPortalRedirect' });

const ConnectOnboardingLink = z
  .object({
    url: redirectTo('Where the browser is sent. It can be opened once, and expires', 'https://connect.stripe.com/setup/e/acct_1/a1b2c3'),
  })
  .meta({ id: 'ConnectOnboardingLink' });

const ConnectStatusRead = z
  .object({
    connected: z.boolean().meta({ description: 'Whether the user has completed the onboarding', examples: [true] }),
    payment_account_id: z
      .string()
      .nullable()
      .meta({ description: "The user's account at the payment provider; null before the onboarding", examples: ['acct_1Nv0FGQ9RKHgCVdK'] }),
    charges_enabled: z.boolean().meta({ description: 'Whether the account can be paid', examples: [true] }),
    payouts_enabled: z.boolean().meta({ description: 'Whether the account pays out to the bank of the user', examples: [true] }),
  })
  .meta({ id: 'ConnectStatusRead' });

/** The operations of payments. If `provider` is null, the operations that need a provider are refused. */
export const paymentOperationsOf = (provider: PaymentProvider | null) => ({
  startCheckout: operation({
    method: 'post',
    path: `${BILLING}/checkout-session`,
    summary: 'Start a checkout',
    details:
      'The plan of the tenant changes when the payment provider reports the subscription. A tenant that has a subscription changes it in the billing portal.',
    permit: 'tenant:billing:write',
    asksOtherHosts: true,
    noETag: true,
    body: CheckoutSessionStart,
    reply: CheckoutSessionRedirect,
    status: 201,
    run: (ctx, input) => startCheckout(provider)(ctx, input, (price_id) => planWithPrice(ctx.reads, price_id)),
  }),
  openBillingPortal: operation({
    method: 'post',
    path: `${BILLING}/portal`,
    summary: 'Open the billing portal',
    details: 'There, the tenant changes or cancels its subscription, and reads its invoices.',
    permit: 'tenant:billing:write',
    asksOtherHosts: true,
    noETag: true,
    reply: BillingPortalRedirect,
    run: openBillingPortal(provider),
  }),
  startSellerOnboarding: operation({
    method: 'post',
    path: '/connect/onboarding-link',
    summary: 'Start the onboarding as a seller',
    details: 'The first call creates an account of the user at the payment provider.',
    permit: 'any',
    permissionNote: USER_ONLY,
    preauthorize: assertSeller,
    asksOtherHosts: true,
    noETag: true,
    reply: ConnectOnboardingLink,
    run: startSellerOnboarding(provider),
  }),
  readConnectStatus: operation({
    method: 'get',
    path: '/connect/status',
    summary: 'Read the seller status of the caller',
    permit: 'any',
    permissionNote: USER_ONLY,
    reply: ConnectStatusRead,
    run: readSeller,
  }),
});
