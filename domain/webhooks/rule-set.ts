import type { RedactionPattern } from '../redaction/redaction-patterns.ts';
import type { GuardrailKind, GuardrailRule } from './guardrail-rule.ts';
import type { RateLimit } from './sliding-window.ts';

/** A rule of the kind `rate`, with its limit. */
export type RateRule = { readonly name: string; readonly action: GuardrailRule['action']; readonly limit: RateLimit };

/**
 * All rules for the deliveries of one integration. `rules` are the rules of the tenant, followed by those of the
 * integration; rules of the kind `rate` are in `rates` instead. `readsBody` is whether any rule or redaction pattern
 * needs the content of the body. `isTimed` is whether an evaluation measures how long each rule takes.
 */
export type RuleSet = {
  readonly rules: readonly GuardrailRule[];
  readonly rates: readonly RateRule[];
  readonly redactions: readonly RedactionPattern[];
  readonly readsBody: boolean;
  readonly isTimed?: true;
};

/**
 * The lists from which a rule set is made. They are compared by identity (`===`): as long as a state does not change,
 * it keeps its list objects.
 */
export type RuleSources = {
  readonly tenant: readonly GuardrailRule[];
  readonly integration: readonly GuardrailRule[];
  readonly redactions: readonly RedactionPattern[];
};

const CONTENT_KINDS: readonly GuardrailKind[] = ['json_path', 'pattern', 'injection'];

const ratesOf = (rules: readonly GuardrailRule[], owner: string): RateRule[] =>
  rules
    .filter(({ kind }) => kind === 'rate')
    .map(({ name, action, options: { max = 1, per_seconds = 1 } }) => ({
      name,
      action,
      limit: { key: `rule ${owner} ${per_seconds} ${name}`, max, windowMs: per_seconds * 1_000 },
    }));

/** The ids of the tenant and the integration whose rules are combined. They are part of the keys of rate limits. */
export type RuleOwners = { readonly tenant: string; readonly integration: string };

const readsBodyIn = ({ rules, redactions }: Pick<RuleSet, 'rules' | 'redactions'>): boolean =>
  redactions.length > 0 || rules.some(({ kind }) => CONTENT_KINDS.includes(kind));

/** Combines the rules of a tenant and of an integration. */
export const ruleSetOf = ({ tenant, integration, redactions }: RuleSources, owners: RuleOwners): RuleSet => {
  const rules = [...tenant, ...integration].filter(({ kind }) => kind !== 'rate');
  const rates = [...ratesOf(tenant, owners.tenant), ...ratesOf(integration, owners.integration)];
  return { rules, rates, redactions, readsBody: readsBodyIn({ rules, redactions }) };
};

/** The results of `releaseRules`, so that the rules of each rule set are compiled only once. */
const forReleases = new WeakMap<RuleSet, RuleSet>();

/** Returns the rules that apply to a blocked delivery when it is released: those that do not block. */
export const releaseRules = (set: RuleSet): RuleSet => {
  const known = forReleases.get(set);
  if (known) return known;
  const rules = set.rules.filter(({ action }) => action !== 'block');
  const { redactions } = set;
  const found: RuleSet = { rules, rates: [], redactions, readsBody: readsBodyIn({ rules, redactions }) };
  forReleases.set(set, found);
  return found;
};

/** Returns whether a rule or a redaction pattern redacts bodies. */
export const redactsBodies = ({ rules, redactions }: RuleSet): boolean =>
  redactions.length > 0 || rules.some(({ action }) => action === 'redact');

/**
 * Creates a function that returns the same as `ruleSetOf`, but from a cache as long as none of the sources changes.
 * `key` is the state object of the integration, which is a new object after its rules have changed.
 */
export const createRuleSets = () => {
  const known = new WeakMap<object, { readonly sources: RuleSources; readonly set: RuleSet }>();
  return (key: object, sources: RuleSources, owners: RuleOwners): RuleSet => {
    const found = known.get(key);
    if (found && found.sources.tenant === sources.tenant && found.sources.redactions === sources.redactions) return found.set;
    const set = ruleSetOf(sources, owners);
    known.set(key, { sources, set });
    return set;
  };
};
