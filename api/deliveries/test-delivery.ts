import type { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import { sendTestDelivery, TestDelivery } from '../../commands/deliveries/test-delivery.ts';
import type { WebhookPorts } from '../../commands/deliveries/webhook-ports.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type DeliveryDetailRow, DeliveryRead, deliveries, table } from '../../projections/deliveries/delivery.ts';
import { withDeliveryNames } from '../../projections/deliveries/delivery-names.queries.ts';
import { asOf } from '../../projections/engine/as-of.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { storedState } from './delivery-states.ts';

const RETRY_SECONDS = 5;

type StoredDelivery = z.output<typeof DeliveryDetailRow>;

/**
 * Returns a delivery that was just recorded. It is read from the log, because the read model may not contain it yet.
 * @throws Refusal unavailable
 */
const recordedDelivery = async (ctx: Ctx, id: string): Promise<Loaded<unknown>> => {
  const [recorded] = await Array.fromAsync(ctx.log.history(Delivery, id, { limit: 1 }));
  if (!recorded)
    throw new Refusal('unavailable', 'The delivery is stored, and is shown when the event store can be reached', {
      retryAfter: RETRY_SECONDS,
    });
  const { position, revision } = recorded;
  const [row] = asOf(deliveries, table.name, [recorded], position).values();
  const stored = JSON.parse(row!.docs[0]!) as StoredDelivery;
  const [delivery] = await withDeliveryNames(ctx.reads, ctx.tenant, [{ ...stored, ...storedState(stored) }]);
  return { id, state: delivery, revision, position };
};

/**
 * Creates the operation that sends a sample delivery to an integration. `ports` handle it like a delivery from a
 * provider.
 */
export const testDeliveryOperationsOf = (ports: WebhookPorts) => ({
  sendTestDelivery: operation({
    method: 'post',
    path: '/tenant/:tenant_id/webhook-integrations/:id/test-delivery',
    summary: 'Send a sample delivery to an integration',
    details:
      "A sample of the provider, signed with the integration's secret, passes all checks of a delivery from outside, and counts against the quota. The field `annals_test` marks its body. If the secret is a public key, only the sender can sign, and the response is 409.",
    permit: 'tenant:integrations:write',
    body: TestDelivery,
    reply: DeliveryRead,
    status: 202,
    run: async (ctx, input) => recordedDelivery(ctx, await sendTestDelivery(ctx, input, ports)),
  }),
});
