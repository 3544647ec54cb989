import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import { createGuardrailSources } from '../../commands/webhooks/guardrail-sources.ts';
import type { GuardrailPort } from '../../commands/webhooks/webhook-ports.ts';
import { createRuleEvaluator } from '../guardrails/rule-evaluator.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { withTimeout } from './record-delivery.ts';

type GuardrailDeps = {
  readonly cache: AggregateReader;
  readonly logger: Pick<Logger, 'warn'>;
  readonly windows: SlidingWindows;
  /** Returns whether held deliveries of a source wait. @throws Error if the read model cannot be read */
  readonly hasHeld: GuardrailPort['hasHeld'];
};

/**
 * Creates the port with which the guardrails use the cached aggregates, the thread that evaluates rules, and the counts
 * of deliveries.
 */
export const guardrailPort = ({
  cache,
  logger,
  windows,
  hasHeld,
}: GuardrailDeps): GuardrailPort & { readonly close: () => Promise<void> } => {
  const sources = createGuardrailSources(cache);
  const { evaluate, close } = createRuleEvaluator({ logger });
  return {
    ruleSet: (integration) => withTimeout(sources.ruleSet(integration)),
    deepestCause: async (tenant, ids) => withTimeout(sources.deepestCause(tenant, ids)),
    hasHeld: (tenant, integration_id) => hasHeld(tenant, integration_id).catch(() => false),
    slackConfig: (tenant, agent_id) => withTimeout(sources.slackConfig(tenant, agent_id)),
    evaluate: (set, { tenant }, subject, content) => evaluate(tenant, set, subject, content),
    takeRates: (tenant, limits, at) => windows.take(tenant, limits, Date.parse(at)),
    close,
  };
};
