import { Refusal } from '../../domain/refusal.ts';

/**
 * A request to the payment provider. If an earlier request had the same `idempotencyKey`, the provider returns its
 * response to the earlier one and does nothing else.
 */
type ProviderRequest = { readonly idempotencyKey: string };

/** A checkout for a subscription. `customer_id` is null if the tenant has not subscribed before. */
export type CheckoutRequest = ProviderRequest & {
  readonly tenant_id: string;
  readonly price_id: string;
  readonly customer_id: string | null;
  readonly email: string | null;
  readonly returnUrl: string;
};

/**
 * The payment provider.
 * @throws Refusal invalid if the provider does not know a price, not_configured if it refuses the key of this
 * installation, unavailable if it does not answer, bad_gateway if its answer cannot be used
 */
export type PaymentProvider = {
  readonly startCheckout: (request: CheckoutRequest) => Promise<{ readonly id: string; readonly url: string }>;
  readonly openPortal: (request: ProviderRequest & { readonly customer_id: string; readonly returnUrl: string }) => Promise<string>;
  readonly createAccount: (request: ProviderRequest & { readonly user_id: string; readonly email: string }) => Promise<string>;
  /** Returns the URL of the onboarding of a seller. The URL can be opened only once. */
  readonly createOnboardingLink: (
    request: ProviderRequest & { readonly account_id: string; readonly returnUrl: string },
  ) => Promise<string>;
};

/** Returns the provider. @throws Refusal not_configured if no provider is configured */
export const requireProvider = (provider: PaymentProvider | null): PaymentProvider => {
  if (provider) return provider;
  throw new Refusal('not_configured', 'STRIPE_SECRET_KEY is not set: this installation takes no payments');
};
