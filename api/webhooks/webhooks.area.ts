import type { Area, Needs } from '../area.ts';
import { redactionOperations } from '../redaction/redaction-patterns.ts';
import { agentIntegrationOperations } from './agent-integrations.ts';
import { deliveryBodies, deliveryOperationsOf } from './delivery.ts';
import { createDeliveryStates } from './delivery-states.ts';
import { guardrailSummaryOperations } from './guardrail-summary.ts';
import { guardrailOperations } from './guardrails.ts';
import { heldDeliveryOperationsOf } from './held-deliveries.ts';
import { inboundWebhook } from './inbound-webhook.ts';
import { integrationOperations } from './integration.ts';
import { releaseOperationOf } from './release.ts';
import { replayOperationsOf } from './replay.ts';
import { testDeliveryOperationsOf } from './test-delivery.ts';
import { tryGuardrailsOperationOf } from './try-guardrails.ts';

export const webhooksArea = {
  title: 'Webhooks in',
  operations: ({
    readDelivery,
    readPreviews,
    evaluateTrial,
    deliveries,
    releases,
    runnerBroker,
  }: Needs<'readDelivery' | 'readPreviews' | 'evaluateTrial' | 'deliveries' | 'releases' | 'runnerBroker'>) => {
    const states = createDeliveryStates(runnerBroker);
    return {
      ...integrationOperations,
      ...agentIntegrationOperations,
      ...guardrailOperations,
      ...guardrailSummaryOperations,
      ...tryGuardrailsOperationOf({ readDelivery, evaluate: evaluateTrial, clock: () => performance.now() }),
      ...deliveryOperationsOf(readDelivery, readPreviews, states),
      ...heldDeliveryOperationsOf(states),
      ...releaseOperationOf(releases),
      ...testDeliveryOperationsOf(deliveries),
      ...replayOperationsOf(states),
      ...redactionOperations,
    };
  },
  plainRoutes: [inboundWebhook, deliveryBodies],
} satisfies Area;
