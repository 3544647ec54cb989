import type { Context } from 'hono';
import { z } from 'zod';
import { assertSigned, PaymentEvent, receivePaymentEvent } from '../../commands/billing/payment-events.ts';
import { planWithPrice } from '../../projections/billing/plan.queries.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { jsonContentOf } from '../http/example.ts';
import { MAX_JSON_BYTES, parseJsonBody, readBytes } from '../http/json-body.ts';
import { headerParameter, plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { parseOrRefuse } from '../http/validation.ts';

/**
 * `paymentSecrets` are the signing secrets of the provider's webhook endpoints. The list is empty if this installation
 * receives no payment events.
 */
export type PaymentWebhookDeps = { readonly paymentSecrets: readonly string[] };
type Deps = PaymentWebhookDeps & { readonly runtime: Runtime };

const provider = { kind: 'system', name: 'payments' } as const;

const PaymentEventReceived = z.object({
  outcome: z
    .enum(['recorded', 'duplicate', 'ignored'])
    .meta({ description: '`duplicate`: known, or older than what is known. `ignored`: an event without an effect' }),
});

const receive =
  ({ runtime, paymentSecrets }: Deps) =>
  async (c: Context): Promise<Response> => {
    const contextOf = (tenant_id?: string) => runtime.context(requestInfoOf(c, runtime, provider, tenant_id));
    const body = await readBytes(c.req.raw, MAX_JSON_BYTES);
    assertSigned({ body, header: (name) => c.req.header(name) }, paymentSecrets, contextOf().at());
    const event = parseOrRefuse(PaymentEvent, parseJsonBody(body));
    const findPlan = (price_id: string) => planWithPrice(runtime.reads, price_id);
    return c.json({ outcome: await receivePaymentEvent({ contextOf, findPlan }, event) });
  };

export const paymentWebhook = plainRoutes([
  plainRoute({
    method: 'post',
    path: '/hooks/payments',
    operationId: 'receivePaymentEvent',
    body: z.looseObject({}),
    reply: PaymentEventReceived,
    summary: 'Receive an event of the payment provider',
    description:
      'Stripe sends events of subscriptions (`customer.subscription.*`) and of the accounts of sellers (`account.updated`) here; other events have no effect. They may arrive in any order and several times. The signature is verified over the received bytes before anything else is read, and must not be older than five minutes.',
    tag: 'Billing',
    security: [],
    parameters: [
      headerParameter('Stripe-Signature', '`t=` and the Unix time, `v1=` and the hex HMAC-SHA-256 of the time, a dot and the body'),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {},
          example: { id: 'evt_1', type: 'customer.subscription.updated', created: 1773480413, data: { object: { id: 'sub_1' } } },
        },
      },
    },
    responses: { 200: { description: 'The event was received', content: jsonContentOf(PaymentEventReceived, 'output', {}) } },
    problems: [400, 401, 408, 409, 413, 422, 503],
    handler: receive,
  }),
]);
