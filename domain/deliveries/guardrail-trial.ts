import type { GuardrailVerdict } from '../guardrails/guardrail.ts';
import type { RulesResult } from '../guardrails/guardrail-evaluation.ts';
import { RESERVED_NAMES } from '../guardrails/guardrail-rule.ts';
import type { RateRule } from '../guardrails/rule-set.ts';
import { counted, emptyWindow, hasRoom, type WindowState } from '../guardrails/sliding-window.ts';
import type { RedactionHit } from '../redaction/redaction-patterns.ts';
import type { DeliveryFacts } from './delivery.ts';

type Verdict = GuardrailVerdict['verdict'];

/** The strongest verdict of all checks, and the check that gave it. */
export type TrialVerdict = { readonly verdict: Verdict; readonly rule: string | null };

const BY_STRENGTH: readonly Verdict[] = ['pass', 'label', 'redact', 'hold', 'block'];

const strongest = (verdicts: readonly GuardrailVerdict[]): TrialVerdict =>
  verdicts.reduce<TrialVerdict>(
    (most, { rule, verdict }) => (BY_STRENGTH.indexOf(verdict) > BY_STRENGTH.indexOf(most.verdict) ? { verdict, rule } : most),
    { verdict: 'pass', rule: null },
  );

/** Returns the verdicts of the built-in checks, which do not depend on rules. */
const builtIn = (guardrails: readonly GuardrailVerdict[]): GuardrailVerdict[] =>
  guardrails.filter(({ rule }) => rule !== 'rules' && RESERVED_NAMES.includes(rule));

/** Whether something other than a rule has blocked the delivery. */
const isBlockedAnyway = ({ reason, guardrails }: DeliveryFacts): boolean =>
  reason !== null &&
  !guardrails.some(
    ({ rule, verdict }) => (verdict === 'block' || verdict === 'hold') && (rule === 'rules' || !RESERVED_NAMES.includes(rule)),
  );

/** Returns the verdict that was reached when the delivery was received. */
export const verdictThen = ({ reason, guardrails }: DeliveryFacts): TrialVerdict => {
  const then = strongest(guardrails);
  return reason !== null && then.verdict !== 'block' && then.verdict !== 'hold' ? { verdict: 'block', rule: null } : then;
};

/**
 * The function returns what the tried rules would decide; `result` is that of all of them but the kind `rate`. Call it once for each
 * delivery, oldest first, because the rules in `rates` count deliveries.
 */
export const createTrial = (rates: readonly RateRule[]) => {
  const windows = new Map<string, WindowState>();

  const take = ({ limit }: RateRule, now: number): boolean => {
    const state = windows.get(limit.key) ?? emptyWindow;
    if (!hasRoom(state, limit, now)) return false;
    windows.set(limit.key, counted(state, limit, now));
    return true;
  };

  const rateVerdicts = (now: number): GuardrailVerdict[] => {
    const blocking = rates.filter(({ action }) => action !== 'label');
    const reached = blocking.find(({ limit }) => !hasRoom(windows.get(limit.key) ?? emptyWindow, limit, now));
    if (reached) return [{ rule: reached.name, verdict: reached.action === 'hold' ? 'hold' : 'block', note: null }];
    for (const rate of blocking) take(rate, now);
    return rates
      .filter((rate) => rate.action === 'label' && !take(rate, now))
      .map(({ name }) => ({ rule: name, verdict: 'label', note: null }));
  };

  return (facts: DeliveryFacts, result: RulesResult): TrialVerdict & { readonly redactions: readonly RedactionHit[] } => {
    if (isBlockedAnyway(facts)) return { ...verdictThen(facts), redactions: [] };
    const decided = [...builtIn(facts.guardrails), ...result.verdicts];
    if (result.reason) return { ...strongest(decided), redactions: [] };
    const now = strongest([...decided, ...rateVerdicts(Date.parse(facts.received_at))]);
    return { ...now, redactions: now.verdict === 'block' ? [] : result.redactions };
  };
};
