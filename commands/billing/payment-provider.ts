import { Refusal } from '../../domain/refusal.ts';

/** If an earlier request had the same key, the provider only returns its earlier response. */
type ProviderRequest = { readonly idempotencyKey: string };

/** `customer_id` is null if the tenant has not subscribed before. */
export type CheckoutRequest = ProviderRequest & {
  readonly tenant_id: string;
  readonly price_id: string;
  readonly customer_id: string | null;
  readonly email: string | null;
  readonly returnUrl: string;
};

/**
 * @throws Refusal invalid if the provider does not know a price, not_configured if it refuses this installation's key, unavailable,
 * bad_gateway if its answer cannot be used
 */
export type PaymentProvider = {
  readonly startCheckout: (request: CheckoutRequest) => Promise<{ readonly id: string; readonly url: string }>;
  readonly openPortal: (request: ProviderRequest & { readonly customer_id: string; readonly returnUrl: string }) => Promise<string>;
  readonly createAccount: (request: ProviderRequest & { readonly user_id: string; readonly email: string }) => Promise<string>;
  /** The URL can be opened only once. */
  readonly createOnboardingLink: (
    request: ProviderRequest & { readonly account_id: string; readonly returnUrl: string },
  ) => Promise<string>;
};

/** @throws Refusal not_configured if no provider is configured */
export const requireProvider = (provider: PaymentProvider | null): PaymentProvider => {
  if (provider) return provider;
  throw new Refusal('not_configured', 'STRIPE_SECRET_KEY is not set: this installation takes no payments');
};
