import type Stripe from 'stripe';
import type { PaymentProvider } from '../../commands/billing/payment-provider.ts';
import { Refusal } from '../../domain/refusal.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';

/** The maximum time of one request, in milliseconds. A request that fails is repeated once. */
const TIMEOUT_MS = 10_000;
const MAX_REPEATS = 1;
const MAX_ANSWER_BYTES = 1024 * 1024;
const RETRY_AFTER_SECONDS = 10;

export type StripeOptions = {
  readonly secretKey: string;
  readonly client: GuardedClient;
  /** The URL of the API. By default, https://api.stripe.com. */
  readonly apiUrl?: string;
};

const fetchWith =
  (client: GuardedClient): typeof fetch =>
  async (url, { method, headers, body } = {}) => {
    const answer = await client.read({
      url: String(url),
      method: method as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { body }),
      totalMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      maxRedirects: 0,
    });
    const answered = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    return new Response(answer.bytes, { status: answer.status, headers: answered });
  };

/** Loads the Stripe library at the first request: most processes send none. */
export const openStripe = async ({ secretKey, client, apiUrl = 'https://api.stripe.com' }: StripeOptions): Promise<Stripe> => {
  const { default: Client } = await import('stripe');
  const { hostname, port, protocol } = new URL(apiUrl);
  return new Client(secretKey, {
    httpClient: Client.createFetchHttpClient(fetchWith(client)),
    host: hostname,
    port: port || (protocol === 'https:' ? 443 : 80),
    protocol: protocol === 'https:' ? 'https' : 'http',
    timeout: TIMEOUT_MS,
    maxNetworkRetries: MAX_REPEATS,
    telemetry: false,
  });
};

/** The message contains no secret. */
const refusalOf = (error: unknown): Refusal => {
  const { type, param, code, detail } = error as Stripe.errors.StripeError & { readonly detail?: unknown };
  const cause = [error, detail, (error as Error).cause].find((one): one is EgressError => one instanceof EgressError);
  if (cause?.failure === 'bad_response') return new Refusal('bad_gateway', cause.message);
  if (type === 'StripeAuthenticationError' || type === 'StripePermissionError')
    return new Refusal('not_configured', 'The payment provider refuses STRIPE_SECRET_KEY, or the key lacks a permission');
  if (type === 'StripeInvalidRequestError' && code === 'resource_missing' && param?.includes('price')) {
    const message = 'the payment provider has no such price';
    return new Refusal('invalid', message, { errors: [{ pointer: '/price_id', code: 'unknown_price', message }] });
  }
  if (type === 'StripeInvalidRequestError' || type === 'StripeIdempotencyError')
    return new Refusal('bad_gateway', `The payment provider refuses the request${code ? `: ${code}` : ''}`);
  return new Refusal('unavailable', 'The payment provider does not answer', { retryAfter: RETRY_AFTER_SECONDS });
};

/** Returns whether an error comes from the Stripe library. Any other error is a bug, and users must not see it. */
const isStripeError = (error: unknown): boolean => error instanceof Error && 'type' in error && String(error.type).startsWith('Stripe');

export const createStripeProvider = (options: StripeOptions): PaymentProvider => {
  let opened: Promise<Stripe> | undefined;

  const ask = async <T>(work: (stripe: Stripe) => Promise<T>): Promise<T> => {
    opened ??= openStripe(options);
    try {
      return await work(await opened);
    } catch (error) {
      throw isStripeError(error) ? refusalOf(error) : error;
    }
  };

  return {
    startCheckout: ({ tenant_id, price_id, customer_id, email, returnUrl, idempotencyKey }) =>
      ask(async (stripe) => {
        const customer = customer_id !== null ? { customer: customer_id } : email !== null ? { customer_email: email } : {};
        const { id, url } = await stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            line_items: [{ price: price_id, quantity: 1 }],
            ...customer,
            client_reference_id: tenant_id,
            // Stripe copies this metadata to the events of the subscription. So these events name the tenant.
            metadata: { tenant_id },
            subscription_data: { metadata: { tenant_id } },
            success_url: returnUrl,
            cancel_url: returnUrl,
          },
          { idempotencyKey },
        );
        if (url === null) throw new Refusal('bad_gateway', 'The payment provider has started a checkout without a URL');
        return { id, url };
      }),
    openPortal: ({ customer_id, returnUrl, idempotencyKey }) =>
      ask(
        async (stripe) =>
          (await stripe.billingPortal.sessions.create({ customer: customer_id, return_url: returnUrl }, { idempotencyKey })).url,
      ),
    createAccount: ({ user_id, email, idempotencyKey }) =>
      ask(async (stripe) => (await stripe.accounts.create({ type: 'express', email, metadata: { user_id } }, { idempotencyKey })).id),
    createOnboardingLink: ({ account_id, returnUrl, idempotencyKey }) =>
      ask(async (stripe) => {
        const link = { account: account_id, type: 'account_onboarding', return_url: returnUrl, refresh_url: returnUrl } as const;
        return (await stripe.accountLinks.create(link, { idempotencyKey })).url;
      }),
  };
};
