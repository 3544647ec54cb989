import type { Area, Needs } from '../area.ts';
import { deliveryBodies, deliveryOperationsOf } from './delivery.ts';
import { createDeliveryStates } from './delivery-states.ts';
import { heldDeliveryOperationsOf } from './held-deliveries.ts';
import { inboundWebhook } from './inbound-webhook.ts';
import { releaseOperationOf } from './release.ts';
import { replayOperationsOf } from './replay.ts';
import { testDeliveryOperationsOf } from './test-delivery.ts';

export const deliveriesArea = {
  title: 'Webhooks in',
  operations: ({
    readDelivery,
    readPreviews,
    deliveries,
    releases,
    runnerBroker,
  }: Needs<'readDelivery' | 'readPreviews' | 'deliveries' | 'releases' | 'runnerBroker'>) => {
    const states = createDeliveryStates(runnerBroker);
    return {
      ...deliveryOperationsOf(readDelivery, readPreviews, states),
      ...heldDeliveryOperationsOf(states),
      ...releaseOperationOf(releases),
      ...testDeliveryOperationsOf(deliveries),
      ...replayOperationsOf(states),
    };
  },
  plainRoutes: [inboundWebhook, deliveryBodies],
} satisfies Area;
