import { compileRules, type EvaluateRules, type RulesResult } from '../../domain/guardrails/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/guardrails/rule-set.ts';
import { ruleTools } from './rule-tools.ts';
import { createRulesClient, type RulesClientOptions } from './rules-client.ts';
import type { RulesTask } from './rules-worker.ts';

const NO_BYTES = new Uint8Array(0);

/**
 * Rules that do not read the body are compiled once per rule set and evaluated at once. All others, and the built-in checks that are still
 * to be made, run in a separate thread.
 */
export const createRuleEvaluator = (options: RulesClientOptions) => {
  const client = createRulesClient(options);
  const compiled = new WeakMap<RuleSet, EvaluateRules>();

  const compiledRules = (set: RuleSet): EvaluateRules => {
    const known = compiled.get(set) ?? compileRules(set.rules, [], ruleTools, set.isTimed && (() => performance.now()));
    compiled.set(set, known);
    return known;
  };

  return {
    /**
     * Null if the evaluation fails or exceeds the time limit, or if too many deliveries wait.
     * @throws Refusal unavailable if the evaluator is closed
     */
    evaluate: (
      tenant: string,
      set: RuleSet,
      subject: RulesTask['subject'],
      content: RulesTask['content'],
    ): RulesResult | null | Promise<RulesResult | null> =>
      set.readsBody || content.needsChecks || !(content.body instanceof Uint8Array)
        ? client.evaluate(tenant, set, subject, content)
        : compiledRules(set)(subject, { ...content, bytes: NO_BYTES }),
    close: client.close,
  };
};
