import type { Area, Needs } from '../area.ts';
import { redactionOperations } from '../redaction/redaction-patterns.ts';
import { agentIntegrationOperations } from './agent-integrations.ts';
import { deliveryBodies, deliveryOperationsOf } from './delivery.ts';
import { guardrailOperations } from './guardrails.ts';
import { inboundWebhook } from './inbound-webhook.ts';
import { integrationOperations } from './integration.ts';
import { releaseOperationOf } from './release.ts';
import { replayOperations } from './replay.ts';
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
  }: Needs<'readDelivery' | 'readPreviews' | 'evaluateTrial' | 'deliveries' | 'releases'>) => ({
    ...integrationOperations,
    ...agentIntegrationOperations,
    ...guardrailOperations,
    ...tryGuardrailsOperationOf({ readDelivery, evaluate: evaluateTrial, clock: () => performance.now() }),
    ...deliveryOperationsOf(readDelivery, readPreviews),
    ...releaseOperationOf(releases),
    ...testDeliveryOperationsOf(deliveries),
    ...replayOperations,
    ...redactionOperations,
  }),
  plainRoutes: [inboundWebhook, deliveryBodies],
} satisfies Area;
