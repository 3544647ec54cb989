import { z } from 'zod';
import * as Seller from '../../domain/billing/seller.ts';
import { SUBSCRIPTION_STATUSES, type SubscriptionReport } from '../../domain/billing/subscription.ts';
import { Id25 } from '../../domain/id.ts';
import { stripe } from '../../domain/integrations/providers/stripe.ts';
import { isFresh, verifySignature } from '../../domain/integrations/signature.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { recordSubscription } from '../../domain/tenants/tenant-subscription.ts';
import type { Ctx } from '../context.ts';
import type { FindPlan } from './checkout.ts';

/** `duplicate`: already recorded. `ignored`: about neither a tenant nor a seller. */
export type PaymentEventOutcome = 'recorded' | 'duplicate' | 'ignored';

/** `header` takes a lower-case name. */
export type PaymentEventRequest = { readonly body: Uint8Array; readonly header: (name: string) => string | undefined };

const { scheme } = stripe;

/**
 * One of the secrets must match, and the signed time differ from `at` by at most five minutes.
 * @throws Refusal not_configured if there is no secret, unauthorized if the signature is not valid
 */
export const assertSigned = ({ body, header }: PaymentEventRequest, secrets: readonly string[], at: string): void => {
  if (secrets.length === 0)
    throw new Refusal('not_configured', 'STRIPE_WEBHOOK_SECRET is not set: events of the payment provider cannot be verified');
  const request = { body, header, url: () => '' };
  const isSigned = secrets.map((secret) => verifySignature(scheme, request, { current: scheme.key(secret), previous: null }).ok);
  if (!isSigned.includes(true) || !isFresh(scheme, request, at))
    throw new Refusal('unauthorized', 'The request has no valid signature of the payment provider');
};

const ProviderId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** The fields of an event of the payment provider that are needed. */
export const PaymentEvent = z.object({
  id: ProviderId,
  type: ProviderId,
  created: z.int().min(0),
  /** The account of a seller; absent for the account of this installation. */
  account: ProviderId.nullish(),
  data: z.object({ object: z.record(z.string(), z.unknown()) }),
});
type PaymentEvent = z.output<typeof PaymentEvent>;

/** An object of the provider or its id; the parsed value is the id. */
const Reference = z.union([ProviderId, z.object({ id: ProviderId }).transform(({ id }) => id)]);

const SubscriptionObject = z.object({
  id: ProviderId,
  status: z.enum(SUBSCRIPTION_STATUSES),
  customer: Reference,
  metadata: z.object({ tenant_id: Id25 }),
  items: z.object({ data: z.array(z.object({ price: Reference })) }).optional(),
});

const AccountObject = z.object({
  id: ProviderId,
  charges_enabled: z.boolean(),
  payouts_enabled: z.boolean(),
  details_submitted: z.boolean(),
  metadata: z.object({ user_id: Id25 }),
});

export type PaymentEventPorts = {
  readonly contextOf: (tenant_id?: string) => Ctx;
  readonly findPlan: FindPlan;
};

const receiveSubscription = async (
  { contextOf, findPlan }: PaymentEventPorts,
  { id: event_id, type: event_type, created, account, data }: PaymentEvent,
): Promise<PaymentEventOutcome> => {
  const subscription = SubscriptionObject.safeParse(data.object).data;
  // The owner of a connected account can create subscriptions with any metadata there.
  if (!subscription || account) return 'ignored';
  const { status, customer: customer_id, metadata, items } = subscription;
  const { tenant_id } = metadata;
  const ctx = contextOf(tenant_id);
  const { state } = await ctx.load(Tenant, tenant_id);
  if (state.status === 'absent' || Tenant.isClosed(state)) return 'ignored';
  const price_id = items?.data[0]?.price ?? null;
  const plan_id = price_id === null ? null : await findPlan(price_id);
  const report: SubscriptionReport = {
    event_id,
    event_type,
    created,
    subscription_id: subscription.id,
    customer_id,
    status,
    price_id,
    plan_id,
  };
  let isNew = false;
  await ctx.transact(Tenant, tenant_id, (tenant) => {
    const events = recordSubscription(report)(tenant);
    isNew = events.length > 0;
    return events;
  });
  return isNew ? 'recorded' : 'duplicate';
};

const receiveAccount = async (
  { contextOf }: PaymentEventPorts,
  { id: event_id, type: event_type, created, account, data }: PaymentEvent,
): Promise<PaymentEventOutcome> => {
  const found = AccountObject.safeParse(data.object).data;
  if (!found || (account && account !== found.id)) return 'ignored';
  const { id: payment_account_id, charges_enabled, payouts_enabled, details_submitted: connected, metadata } = found;
  const report = { event_id, event_type, created, payment_account_id, connected, charges_enabled, payouts_enabled };
  const ctx = contextOf();
  if (!Seller.isOfSeller((await ctx.load(Seller, metadata.user_id)).state, report)) return 'ignored';
  let isNew = false;
  await ctx.transact(Seller, metadata.user_id, (seller) => {
    const events = Seller.recordReport(report)(seller);
    isNew = events.length > 0;
    return events;
  });
  return isNew ? 'recorded' : 'duplicate';
};

/**
 * Events may arrive in any order and several times. Ignores those about neither a subscription nor a seller. @throws Refusal unavailable
 */
export const receivePaymentEvent = (ports: PaymentEventPorts, event: PaymentEvent): Promise<PaymentEventOutcome> => {
  if (event.type.startsWith('customer.subscription.')) return receiveSubscription(ports, event);
  if (event.type === 'account.updated') return receiveAccount(ports, event);
  return Promise.resolve('ignored');
};
