import type { Area, Needs } from '../area.ts';
import { guardrailSummaryOperations } from './guardrail-summary.ts';
import { guardrailOperations } from './guardrails.ts';
import { tryGuardrailsOperationOf } from './try-guardrails.ts';

export const guardrailsArea = {
  title: 'Webhooks in',
  operations: ({ readDelivery, evaluateTrial }: Needs<'readDelivery' | 'evaluateTrial'>) => ({
    ...guardrailOperations,
    ...guardrailSummaryOperations,
    ...tryGuardrailsOperationOf({ readDelivery, evaluate: evaluateTrial, clock: () => performance.now() }),
  }),
  plainRoutes: [],
} satisfies Area;
