import type { Config } from '../../config.ts';
import { createGuardedClient } from '../../egress/guarded-client.ts';
import { fail, none, ok, type Result, warn } from '../../health/finding.ts';
import { openStripe } from '../../payments/stripe-provider.ts';

type PaymentConfig = Pick<Config, 'stripeSecretKey' | 'stripeWebhookSecret' | 'egressAllow'>;

const SECRET_ADVICE = 'add an endpoint for <PUBLIC_URL>/hooks/payments at Stripe, and set STRIPE_WEBHOOK_SECRET to its signing secret';

/** Sends one request. Warns without STRIPE_WEBHOOK_SECRET, because Stripe's events can then not be received. */
export const checkStripe = async (
  { stripeSecretKey, stripeWebhookSecret, egressAllow }: PaymentConfig,
  apiUrl?: string,
): Promise<Result> => {
  if (!stripeSecretKey) return none('STRIPE_SECRET_KEY is not set: no payments are taken');
  const client = createGuardedClient({ allow: egressAllow });
  try {
    const stripe = await openStripe({ secretKey: stripeSecretKey, client, ...(apiUrl && { apiUrl }) });
    await stripe.prices.list({ limit: 1 });
  } catch (error) {
    const { type } = error as { type?: string };
    if (type === 'StripeAuthenticationError') return fail('Stripe refuses STRIPE_SECRET_KEY', 'correct STRIPE_SECRET_KEY');
    // A restricted key may not read prices, but this error shows that Stripe knows the key.
    if (type !== 'StripePermissionError') return fail('Stripe does not answer', 'allow connections to api.stripe.com:443');
  } finally {
    await client.close();
  }
  return stripeWebhookSecret
    ? ok('Stripe accepts the key')
    : warn('Stripe accepts the key, but its events are not received, so plans never change', SECRET_ADVICE);
};
