import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import { createGuardrailSources } from '../../commands/webhooks/guardrail-sources.ts';
import type { GuardrailPort } from '../../commands/webhooks/webhook-ports.ts';
import { compileRules, type EvaluateRules } from '../../domain/webhooks/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/webhooks/rule-set.ts';
import { ruleTools } from '../guardrails/rule-tools.ts';
import { createRulesClient } from '../guardrails/rules-client.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { withTimeout } from './record-delivery.ts';

type GuardrailDeps = {
  readonly cache: AggregateReader;
  readonly logger: Pick<Logger, 'warn'>;
  readonly windows: SlidingWindows;
  /** How long rules that read a small body may take. */
  readonly ruleTimeLimitMs?: number | undefined;
};

const NO_BYTES = new Uint8Array(0);

/**
 * Connects the guardrails to the cached aggregates, the thread that evaluates rules and the counts of deliveries. Rules
 * that do not read the body are evaluated at once in this thread.
 */
export const guardrailPort = ({
  cache,
  logger,
  windows,
  ruleTimeLimitMs,
}: GuardrailDeps): GuardrailPort & { readonly close: () => Promise<void> } => {
  const sources = createGuardrailSources(cache);
  const { evaluate, close } = createRulesClient({ logger, ...(ruleTimeLimitMs === undefined ? {} : { timeLimitMs: ruleTimeLimitMs }) });
  const compiled = new WeakMap<RuleSet, EvaluateRules>();

  const compiledRules = (set: RuleSet): EvaluateRules => {
    const known = compiled.get(set) ?? compileRules(set.rules, [], ruleTools);
    compiled.set(set, known);
    return known;
  };

  return {
    ruleSet: (integration) => withTimeout(sources.ruleSet(integration)),
    deepestCause: async (tenant, ids) => withTimeout(sources.deepestCause(tenant, ids)),
    slackConfig: (tenant, agent_id) => withTimeout(sources.slackConfig(tenant, agent_id)),
    evaluate: (set, { tenant }, subject, content) =>
      set.readsBody || !(content.body instanceof Uint8Array)
        ? evaluate(tenant, set, subject, content)
        : compiledRules(set)(subject, { ...content, bytes: NO_BYTES }),
    takeRates: (limits, at) => windows.take(limits, Date.parse(at)),
    close,
  };
};
