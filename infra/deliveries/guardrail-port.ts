import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import { createGuardrailSources } from '../../commands/deliveries/guardrail-sources.ts';
import type { GuardrailPort } from '../../commands/deliveries/webhook-ports.ts';
import { createRuleEvaluator } from '../guardrails/rule-evaluator.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { withTimeout } from './delivery-appends.ts';

type GuardrailDeps = {
  readonly cache: AggregateReader;
  readonly logger: Pick<Logger, 'warn'>;
  readonly windows: SlidingWindows;
  /** @throws Error if the read model cannot be read */
  readonly hasHeld: GuardrailPort['hasHeld'];
};

/** After a failure, held deliveries are not looked up for this time. */
const HELD_PAUSE_MS = 5_000;

/** Returns false for some seconds after a failure, so that a read model without an answer delays only one delivery. */
const boundedHeldLookup = (hasHeld: GuardrailPort['hasHeld'], logger: Pick<Logger, 'warn'>): GuardrailPort['hasHeld'] => {
  let pausedUntil = 0;
  return async (tenant, integration_id) => {
    if (performance.now() < pausedUntil) return false;
    try {
      return await withTimeout(hasHeld(tenant, integration_id));
    } catch (error) {
      pausedUntil = performance.now() + HELD_PAUSE_MS;
      logger.warn({ reason: (error as Error).message }, 'held deliveries cannot be looked up now: new ones do not wait behind them');
      return false;
    }
  };
};

/** Gives the guardrails the cached aggregates, the thread for rules, and the counts of deliveries. */
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
    hasHeld: boundedHeldLookup(hasHeld, logger),
    slackConfig: (tenant, agent_id) => withTimeout(sources.slackConfig(tenant, agent_id)),
    evaluate: (set, { tenant }, subject, content) => evaluate(tenant, set, subject, content),
    takeRates: (tenant, limits, at) => windows.take(tenant, limits, Date.parse(at)),
    roomAt: (tenant, limit, at) => new Date(windows.roomAt(tenant, limit, Date.parse(at))).toISOString(),
    close,
  };
};
