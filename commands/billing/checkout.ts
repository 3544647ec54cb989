import { z } from 'zod';
import * as BillingRecord from '../../domain/billing/billing-record.ts';
import { customerOf, hasOpenSubscription } from '../../domain/billing/subscription.ts';
import { displayText } from '../../domain/fields.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { type PaymentProvider, requireProvider } from './payment-provider.ts';

export const CheckoutSessionStart = z
  .strictObject({
    price_id: displayText(1, 128).meta({
      description: 'The `price_id` of the plan to subscribe to',
      examples: ['price_1MoBy5LkdIwHu7ixZhnattbh'],
    }),
  })
  .meta({ id: 'CheckoutSessionStart' });

export type FindPlan = (price_id: string) => Promise<string | null>;

const loadTenant = async (ctx: Ctx): Promise<Tenant.Tenant> => {
  const { state } = await ctx.load(Tenant, ctx.tenant);
  Tenant.assertExists(state);
  return state;
};

/** @throws Refusal invalid if no plan has the price, conflict if the tenant has a subscription */
const checkoutOf = async (ctx: Ctx, price_id: string, findPlan: FindPlan) => {
  const { subscriptions, billing_email } = await loadTenant(ctx);
  const plan_id = await findPlan(price_id);
  if (plan_id === null) throw invalid('/price_id', 'is not the price of a plan', 'unknown_price');
  if (hasOpenSubscription(subscriptions))
    throw new Refusal('conflict', 'The tenant has a subscription: change it in the billing portal (POST …/billing/portal)');
  return { plan_id, customer_id: customerOf(subscriptions), email: billing_email };
};

/**
 * The tenant's plan changes when the provider reports the subscription.
 * @throws Refusal not_found, not_configured, invalid, conflict, rate_limited, unavailable, bad_gateway
 */
export const startCheckout =
  (maybeProvider: PaymentProvider | null) =>
  async (
    ctx: Ctx,
    { price_id }: Input<typeof CheckoutSessionStart, 'tenant_id'>,
    findPlan: FindPlan,
  ): Promise<Loaded<{ url: string; session_id: string }>> => {
    const provider = requireProvider(maybeProvider);
    const { plan_id, ...customer } = await ctx.sideEffect(() => checkoutOf(ctx, price_id, findPlan));
    await ctx.limitFlow('checkout');
    const { id: session_id, url } = await provider.startCheckout({
      ...customer,
      tenant_id: ctx.tenant,
      price_id,
      returnUrl: ctx.publicUrl,
      idempotencyKey: ctx.newId(),
    });
    const loaded = await ctx.transact(BillingRecord, ctx.tenant, BillingRecord.startCheckout(session_id, price_id, plan_id));
    return { ...loaded, state: { url, session_id } };
  };

/**
 * Opens the payment provider's portal, in which the tenant changes or cancels its subscription.
 * @throws Refusal not_found, not_configured, conflict if the tenant has never subscribed, unavailable, bad_gateway
 */
export const openBillingPortal =
  (maybeProvider: PaymentProvider | null) =>
  async (ctx: Ctx): Promise<Loaded<{ url: string }>> => {
    const provider = requireProvider(maybeProvider);
    const { customer_id } = await ctx.sideEffect(async () => ({ customer_id: customerOf((await loadTenant(ctx)).subscriptions) }));
    if (customer_id === null)
      throw new Refusal('conflict', 'The tenant has never subscribed: start a checkout first (POST …/billing/checkout-session)');
    const url = await provider.openPortal({ customer_id, returnUrl: ctx.publicUrl, idempotencyKey: ctx.newId() });
    const loaded = await ctx.transact(BillingRecord, ctx.tenant, BillingRecord.openPortal(customer_id));
    return { ...loaded, state: { url } };
  };
